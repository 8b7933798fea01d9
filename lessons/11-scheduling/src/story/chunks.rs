//! Q2: what chunks do to waiting requests, and to the use of the machine, measured on the real model.

use super::stall::{self, BEFORE, Seen, TOKENS};
use super::world::in_ms;
use super::{Scene, opening};
use lab::chart::Chart;
use lab::race::{Better, Disturbance, RaceEntry, RaceResult, median};
use lab::story::{Claim, Story, Verdict};
use layout::probe::peak_flops;
use training::TokenId;

/// The contenders: a name, and the rows of a chunk. Lesson 08's engine knows no chunks.
const WAYS: [(&str, Option<usize>); 4] = [
    ("whole, lesson 08", None),
    ("whole", Some(usize::MAX)),
    ("chunks of 256", Some(256)),
    (SMALL, Some(64)),
];
/// The contender that the claim is about.
const SMALL: &str = "chunks of 64";

/// The rounds of each contender; the first, unmeasured one is left out.
fn rounds(story: &Story, scene: &Scene, prompt: &[TokenId]) -> anyhow::Result<Vec<Vec<Seen>>> {
    let count = if scene.model.is_large() { 2 } else { 5 };
    let mut runs: Vec<Vec<Seen>> = WAYS.iter().map(|_| Vec::new()).collect();
    let bar = story.progress(count + 1, "rounds");
    for round in 0..=count {
        for ((_, chunk), runs) in WAYS.iter().zip(&mut runs) {
            let seen = match chunk {
                None => stall::before(scene, prompt)?,
                Some(chunk) => stall::in_chunks(scene, prompt, *chunk, TOKENS)?,
            };
            runs.push(seen);
        }
        let tokens = |runs: &Vec<Seen>| runs.last().map(|seen| seen.tokens.clone());
        anyhow::ensure!(
            runs.iter().all(|other| tokens(other) == tokens(&runs[0])),
            "chunks changed a token"
        );
        if round == 0 {
            runs.iter_mut().for_each(Vec::clear);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(runs)
}

fn race(id: &str, title: &str, runs: &[Vec<Seen>], number: fn(&Seen) -> f64) -> RaceResult {
    let entry = |((name, _), seen): (&(&str, _), &Vec<Seen>)| {
        RaceEntry::from_samples(name, None, seen.iter().map(number).collect())
    };
    RaceResult {
        id: id.into(),
        title: title.into(),
        unit: "ms".into(),
        better: Better::Lower,
        baseline: WAYS[0].0.into(),
        entries: WAYS.iter().zip(runs).map(entry).collect(),
    }
}

/// The time of each token of a stream while a long prompt is read whole and in chunks.
pub fn measured(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let long = stall::long_prompt(scene).len();
    story.step(
        "Watch a stream while a long prompt is read",
        "The real model: a stream, and after its first tokens a prompt that nearly fills the context. Lesson 08's engine is the baseline.",
    );
    story.show("tokens of the prompt", long);
    let prompt = opening::prompt(scene)?;
    let runs = rounds(story, scene, &prompt)?;
    let gap = race("stall", "Longest time before a token of the stream", &runs, |seen| {
        in_ms(seen.longest())
    });
    story.race_result(&gap);
    let first = race("long-ttft", "First token of the long prompt", &runs, |seen| {
        in_ms(seen.long_ttft())
    });
    story.race_result(&first);
    let gaps_of =
        |seen: &[Seen], token: usize| median(&seen.iter().map(|seen| in_ms(seen.gaps()[token])).collect::<Vec<_>>());
    let quiet = median(&runs.iter().flatten().map(|seen| seen.alone.ms()).collect::<Vec<_>>());
    claim(story, quiet, &gap, &first);
    knob(story, scene, &prompt)?;
    let note = format!(
        "a prompt of {long} tokens comes after token {BEFORE}; model {}",
        scene.model.name
    );
    let empty = Chart::lines(
        "inter-token",
        "In chunks no token of the stream waits for the whole prompt",
    )
    .x_label("token of the stream")
    .y_label("ms before it")
    .log_y()
    .note(&note);
    let chart = WAYS.iter().zip(&runs).fold(empty, |chart, ((name, _), seen)| {
        let points = (1..TOKENS).map(|token| ((token + 1) as f64, gaps_of(seen, token - 1)));
        chart.series(name, points.collect())
    });
    story.chart(&chart)?;
    Ok(())
}

/// What the size of a chunk buys and costs: rows and time of a step, use of the machine, the wait of the prompt.
fn knob(story: &mut Story, scene: &Scene, prompt: &[TokenId]) -> anyhow::Result<()> {
    let rounds = if scene.model.is_large() { 1 } else { 3 };
    let peak = peak_flops(&scene.pool);
    let mut rows = Vec::new();
    let mut measure =
        |name: &str, prompt: &[TokenId], chunk: usize, part: fn(&Seen) -> stall::Steps| -> anyhow::Result<()> {
            let tokens = stall::tokens_while_read(scene, chunk);
            let seen = (0..rounds).map(|_| stall::in_chunks(scene, prompt, chunk, tokens));
            let seen = seen.collect::<anyhow::Result<Vec<Seen>>>()?;
            let of = |number: &dyn Fn(&Seen) -> f64| median(&seen.iter().map(number).collect::<Vec<_>>());
            let num_rows = if name == ALONE {
                1
            } else {
                chunk + usize::from(!prompt.is_empty())
            };
            let (ms, share) = (of(&|seen| part(seen).ms()), of(&|seen| part(seen).share(peak)));
            rows.push((
                name.to_owned(),
                num_rows,
                ms,
                share,
                of(&|seen| in_ms(seen.long_ttft())),
            ));
            Ok(())
        };
    measure(ALONE, prompt, 64, |seen| seen.alone)?;
    for chunk in stall::CHUNKS {
        measure(&chunk.to_string(), prompt, chunk, |seen| seen.reading)?;
    }
    measure("64, no stream", &[], 64, |seen| seen.reading)?;
    story.say("How large should a chunk be? A chunk fills a step that would read the weights for one row. The table has the rows and the time of a step while the prompt is read, the share of the machine's peak that the step uses, and the wait for the first token of the prompt.");
    let quiet = rows[0].2;
    story.rows(
        &[
            "chunk",
            "rows",
            "ms a step",
            "times quiet",
            "% of peak",
            "first token, ms",
        ],
        rows.iter().map(|(name, num_rows, ms, share, first)| {
            let first = if name == ALONE {
                String::new()
            } else {
                format!("{first:.0}")
            };
            let (ms, times, share) = (
                format!("{ms:.1}"),
                format!("{:.1}", ms / quiet),
                format!("{:.0}", 100.0 * share),
            );
            [name.clone(), num_rows.to_string(), ms, times, share, first]
        }),
    );
    let of_chunk: Vec<_> = rows[1..=stall::CHUNKS.len()]
        .iter()
        .map(|row| (&row.0, row.2, row.2 / quiet, row.4, row.3))
        .collect();
    story.values("by_chunk", &of_chunk);
    story.values("share_of_peak", [rows[0].3, of_chunk[3].4, rows[rows.len() - 1].3]);
    story.say("Compare the first row, the chunk of 64 and the last row: what a chunk adds to the use of the machine, and what the stream beside it takes away.");
    let most = rows.iter().map(|row| row.3).fold(0.0, f64::max);
    if let Some(sign) = Disturbance::of_share("this machine's peak", most) {
        story.say(format!("This machine is busy ({sign}); run again."));
    }
    Ok(())
}

/// The row of a stream without a prompt beside it.
const ALONE: &str = "none";

fn claim(story: &mut Story, quiet: f64, gap: &RaceResult, first: &RaceResult) {
    let (whole, small) = (gap.median(WAYS[0].0), gap.median(SMALL));
    let note = format!(
        "A token takes {quiet:.1} ms when nothing arrives. When the prompt is read whole, one token takes {whole:.1} ms; in chunks of 64 none takes more than {small:.1} ms, which is the step of one chunk \
         ({:.1} times a quiet one) and does not grow with the prompt. The prompt pays: its first token comes after {:.0} ms instead of {:.0}.",
        small / quiet,
        first.median(SMALL),
        first.median(WAYS[0].0)
    );
    let claim = Claim {
        id: "Q2",
        claimed: "Chunked prefill keeps decode latency flat when a long prompt arrives",
        value: whole / small,
        unit: "times shorter at worst",
        // What is asked: decode does not wait long for the prompt.
        verdict: Verdict::of(whole >= 4.0 * small, whole >= 1.5 * small),
        note: &note,
    };
    story.claim_if_quiet(claim, [gap.disturbance(SMALL, WAYS[0].0)]);
}
