//! What chunks do to waiting requests, measured on the real model.

use super::stall::{self, BEFORE, Seen};
use super::world::in_ms;
use super::{Scene, opening};
use anyhow::Context;
use lab::chart::Chart;
use lab::race::{Better, RaceEntry, RaceResult, quartiles};
use lab::story::{Claim, Story, Verdict};
use lab::table::Table;
use lab::term::{self, Tone};
use std::time::Duration;
use training::TokenId;

/// Rounds, and those with a large model.
const ROUNDS: (usize, usize) = (5, 2);
/// Lesson 08's engine.
const BEFORE_NAME: &str = "whole, lesson 08";

/// A contender: its name and all its rounds.
struct Runs {
    name: String,
    rounds: Vec<Seen>,
}

impl Runs {
    /// One number of each round.
    fn samples(&self, number: impl Fn(&Seen) -> f64) -> Vec<f64> {
        self.rounds.iter().map(number).collect()
    }

    /// Median over the rounds of the time before each token.
    fn gaps(&self) -> Vec<f64> {
        let of_round: Vec<Vec<Duration>> = self.rounds.iter().map(Seen::gaps).collect();
        (0..of_round[0].len())
            .map(|token| {
                let gaps: Vec<f64> = of_round.iter().map(|gaps| in_ms(gaps[token])).collect();
                quartiles(&gaps).median
            })
            .collect()
    }
}

/// Q2: the time of each token of a stream while a long prompt is read whole and in chunks.
pub fn measured(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let long = stall::long_prompt(scene).len();
    story.step(
        "Watch a stream while a long prompt is read",
        "The real model: a stream, and after its first tokens a prompt that nearly fills the context. Lesson 08's engine is the baseline.",
    );
    story.show("tokens of the prompt", long);
    let prompt = opening::prompt(scene)?;
    let chunks = [usize::MAX, 256, 64];
    let name = |chunk: usize| match chunk {
        usize::MAX => "whole".to_owned(),
        chunk => format!("chunks of {chunk}"),
    };
    let mut runs = vec![Runs {
        name: BEFORE_NAME.into(),
        rounds: Vec::new(),
    }];
    runs.extend(chunks.map(|chunk| Runs {
        name: name(chunk),
        rounds: Vec::new(),
    }));
    let rounds = if scene.model.is_large() { ROUNDS.1 } else { ROUNDS.0 };
    let bar = story.progress(rounds as u64 + 1, "rounds");
    for round in 0..=rounds {
        let mut seen = vec![stall::before(scene, &prompt)?];
        for chunk in chunks {
            seen.push(stall::in_chunks(scene, &prompt, chunk)?);
        }
        anyhow::ensure!(
            seen.iter().all(|other| other.tokens == seen[0].tokens),
            "chunks changed a token"
        );
        // Round 0 is the warm-up.
        if round > 0 {
            for (runs, seen) in runs.iter_mut().zip(seen) {
                runs.rounds.push(seen);
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    drawn(story, &runs);
    let gap = race("stall", "Longest time before a token of the stream", &runs, |seen| {
        in_ms(seen.longest())
    });
    story.race_result(&gap);
    let first = race("long-ttft", "First token of the long prompt", &runs, |seen| {
        in_ms(seen.long_at - seen.came)
    });
    story.race_result(&first);
    claim(story, &runs, &gap, &first)?;
    knob(story, scene, &prompt)?;
    let chart = (runs.iter()).fold(
        Chart::lines("inter-token", "A stream while a long prompt is read")
            .x_label("token of the stream")
            .y_label("ms before it")
            .log_y()
            .note(&format!(
                "a prompt of {long} tokens comes after token {BEFORE}; model {}",
                scene.model.name
            )),
        |chart, runs| {
            let points = (2..).zip(runs.gaps()).map(|(token, ms)| (f64::from(token), ms));
            chart.series(&runs.name, points.collect())
        },
    );
    story.chart(&chart)?;
    Ok(())
}

/// What the size of a chunk buys and costs.
fn knob(story: &mut Story, scene: &Scene, prompt: &[TokenId]) -> anyhow::Result<()> {
    let long = stall::long_prompt(scene).len();
    let rounds = if scene.model.is_large() { 1 } else { 3 };
    let mut table = Table::new(&["chunk", "steps", "ms a token", "times quiet", "first token, ms"]);
    let mut rows = Vec::new();
    for chunk in [8usize, 16, 32, 64, 128, 256] {
        let seen: anyhow::Result<Vec<Seen>> = (0..rounds).map(|_| stall::to_its_end(scene, prompt, chunk)).collect();
        let runs = Runs {
            name: chunk.to_string(),
            rounds: seen?,
        };
        let median = |number: fn(&Seen) -> f64| quartiles(&runs.samples(number)).median;
        let gap = median(|seen| {
            let gaps: Vec<f64> = seen.while_read().into_iter().map(in_ms).collect();
            quartiles(&gaps).median
        });
        let first = median(|seen| in_ms(seen.long_at - seen.came));
        let quiet = quartiles(&runs.gaps()[..BEFORE - 1]).median;
        table.row([
            runs.name.clone(),
            long.div_ceil(chunk).to_string(),
            format!("{gap:.1}"),
            format!("{:.1}", gap / quiet),
            format!("{first:.0}"),
        ]);
        rows.push((chunk, gap, gap / quiet, first));
    }
    story.say("How large should a chunk be? Lesson 02 measured how many rows ride along almost free. This is what it makes of a chunk: the time of a token of the stream while the prompt is read, and the wait for the first token of the prompt.");
    story.table(&table);
    story.values("by_chunk", &rows);
    Ok(())
}

fn race(id: &str, title: &str, runs: &[Runs], number: fn(&Seen) -> f64) -> RaceResult {
    let entry = |runs: &Runs| RaceEntry::from_samples(&runs.name, None, runs.samples(number));
    RaceResult {
        id: id.into(),
        title: title.into(),
        unit: "ms".into(),
        better: Better::Lower,
        baseline: BEFORE_NAME.into(),
        entries: runs.iter().map(entry).collect(),
    }
}

/// The gaps over time, a column a token.
fn drawn(story: &mut Story, runs: &[Runs]) {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = (runs.iter().flat_map(Runs::gaps)).fold(0.0, f64::max);
    let least = (runs.iter().flat_map(Runs::gaps)).fold(f64::MAX, f64::min);
    story.say("");
    for runs in runs {
        let column = |ms: &f64| {
            // Logarithmic: the stall is many times a quiet step.
            let share = (ms / least).ln() / (most / least).ln().max(1e-9);
            let height = (share * 7.0).round().clamp(0.0, 7.0);
            HEIGHTS[height as usize]
        };
        let line: String = runs.gaps().iter().map(column).collect();
        let line = story.paint(Tone::Accent, &line);
        story.print(format!("   {} {line}\n", term::pad(&runs.name, 18)));
    }
    story.say_as(
        Tone::Dim,
        "A column is a token of the stream, its height the logarithm of the time before it.",
    );
}

fn claim(story: &mut Story, runs: &[Runs], gap: &RaceResult, first: &RaceResult) -> anyhow::Result<()> {
    let median = |race: &RaceResult, name: &str| -> anyhow::Result<f64> {
        let entry = race.entries.iter().find(|entry| entry.name == name);
        Ok(entry.context("an entry of each contender")?.median)
    };
    let quiet: Vec<f64> = runs
        .iter()
        .flat_map(|runs| runs.gaps().into_iter().take(BEFORE - 1))
        .collect();
    let quiet = quartiles(&quiet).median;
    let (whole, small) = (median(gap, BEFORE_NAME)?, median(gap, "chunks of 64")?);
    let (long_whole, long_small) = (median(first, BEFORE_NAME)?, median(first, "chunks of 64")?);
    let verdict = match (small / quiet, whole / small) {
        (flat, _) if flat <= 1.5 => Verdict::Holds,
        (_, shrinks) if shrinks >= 2.0 => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    let note = format!(
        "A token takes {quiet:.1} ms when nothing arrives, {whole:.1} ms at most when the prompt is read whole, {small:.1} ms in chunks of 64: the stall is spread over \
         many tokens, each {:.1} times as long as a quiet one. The long prompt itself has its first token after {long_small:.0} ms instead of {long_whole:.0}.",
        small / quiet
    );
    story.claim(Claim {
        id: "Q2",
        claimed: "Chunked prefill keeps decode latency flat when a long prompt arrives",
        value: whole / small,
        unit: "times shorter at worst",
        verdict,
        note: &note,
    });
    Ok(())
}
