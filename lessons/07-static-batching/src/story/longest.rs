//! In a static batch the short ones wait for the longest.

use super::{Scene, made_up_tokens};
use lab::chart::Chart;
use lab::number;
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
use lab::term;
use static_batching::percentile::percentile;
use static_batching::plan::{Plan, StepRequest, static_plan};
use static_batching::workload::{Lengths, Pace, arrivals};
use static_batching::{Pad, generate_batch};
use std::time::Instant;
use training::TokenId;

/// New tokens that the eight requests of one batch ask for.
const ASKED: [usize; 8] = [8, 6, 64, 10, 8, 12, 6, 9];
/// Tokens of each prompt.
const PROMPT: usize = 8;
/// Columns of a bar of 64 steps.
const BAR: usize = 32;

/// One batch for real: seven short requests and a long one.
pub fn one_batch(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    story.step(
        "Put a long one among them",
        "Seven requests of about eight tokens and one of 64, one batch, the real model.",
    );
    let prompts: Vec<Vec<TokenId>> = (0..ASKED.len())
        .map(|salt| made_up_tokens(&scene.model, PROMPT, salt))
        .collect();
    let slices: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
    let begun = Instant::now();
    let mut last_token = [0.0; ASKED.len()];
    let (model, pool, state) = (&scene.model, &scene.pool, &mut scene.state);
    let on_token = &mut |row: usize, _| last_token[row] = begun.elapsed().as_secs_f64() * 1e3;
    let run = generate_batch(model, state, pool, &slices, &ASKED, Pad::default(), on_token)?;
    let end = begun.elapsed().as_secs_f64() * 1e3;
    let mut table = Table::new(&[
        "asked for",
        "done at step",
        "ms",
        "handed back",
        "█ computed, ░ for nothing",
    ]);
    for (row, asked) in ASKED.iter().enumerate() {
        let done = run.done_at[row];
        let columns = |steps: u64| (steps as usize * BAR).div_ceil(run.steps.max(1) as usize);
        let own = columns(done);
        let bar = format!("{}{}", "█".repeat(own), "░".repeat(columns(run.steps) - own));
        table.row([
            asked.to_string(),
            done.to_string(),
            number::short(last_token[row]),
            format!("{} ms", number::short(end)),
            term::pad(&bar, BAR),
        ]);
    }
    story.table(&table);
    story.show("steps", run.steps);
    story.show_as(
        "rows computed, useful among them",
        [run.rows_computed, run.rows_useful],
        format!(
            "{}, {} ({:.0} %)",
            run.rows_computed,
            run.rows_useful,
            100.0 * run.rows_useful as f64 / run.rows_computed as f64
        ),
    );
    story.values("done_at", &run.done_at);
    Ok(())
}

/// Requests of each plan.
const REQUESTS: usize = 8192;
/// Rows of a batch in the table and the claim.
const BATCH: usize = 8;
/// An answer up to here is a short one.
const SHORT: usize = 32;
/// Batch sizes of the chart.
const SIZES: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Three kinds of answers, as steps.
fn kinds() -> [(&'static str, Lengths); 3] {
    [
        ("all 64", Lengths::equal(64, 64)),
        ("70 % 32, 30 % 192", Lengths::mix()),
        ("exponential, mean 64", Lengths::exponential(64, 64.0, 100_000)),
    ]
}

fn plan_of(lengths: &Lengths, seed: u64, max_batch: usize) -> (Vec<usize>, Plan) {
    let stream = arrivals(seed, REQUESTS, lengths, &Pace::AtOnce);
    let requests: Vec<StepRequest> = stream
        .iter()
        .map(|arrival| StepRequest {
            arrives: 0,
            prompt_tokens: arrival.prompt_tokens,
            new_tokens: arrival.new_tokens,
        })
        .collect();
    let plan = static_plan(&requests, max_batch);
    (stream.iter().map(|a| a.new_tokens).collect(), plan)
}

/// Longest of a batch over the mean length: how much longer everybody stays than they need to, in the mean.
fn longest_over_mean(lengths: &[usize], plan: &Plan) -> f64 {
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
    plan.steps() as f64 / plan.batches.len() as f64 / mean
}

/// How many times its own steps each short answer stays in its batch.
fn stays(lengths: &[usize], plan: &Plan) -> Vec<f64> {
    let outcomes = lengths.iter().zip(&plan.outcomes);
    outcomes
        .filter(|(new_tokens, _)| **new_tokens <= SHORT)
        .map(|(new_tokens, o)| (o.returned - o.started) as f64 / *new_tokens as f64)
        .collect()
}

/// B5: many batches, counted in steps.
pub fn many(story: &mut Story, seed: u64) -> anyhow::Result<()> {
    story.step(
        "Count who waits for whom",
        "8192 requests in batches of eight, in steps: no model and no clock, for the plan needs only lengths.",
    );
    let (lengths, plan) = plan_of(&kinds()[2].1, seed, BATCH);
    let factor = longest_over_mean(&lengths, &plan);
    let text = format!("about {factor:.1} times");
    story.predict(Prediction {
        id: "longest-of-eight",
        question: "Answers of exponential length, 64 tokens in the mean. How many times the mean is the longest of eight?",
        options: &[
            Choice { text: "about 1.3 times", answer_to_wrong: Some("That is the price of a step. Here lengths are compared.") },
            Choice { text: &text, answer_to_wrong: None },
            Choice { text: "8 times", answer_to_wrong: Some("That would need one of them to take the length of all.") },
        ],
        answer: 1,
        because: "1 + 1/2 + 1/3 + … + 1/8 = 2.7. So long the batch computes, while its mean row is done after 1.",
    });
    let mut table = Table::new(&["answers", "longest / mean", "useful rows", "short stay: P50", "P99"]);
    let mut chart = Chart::lines("longest", "The longest of a batch decides for all")
        .x_label("rows in the batch")
        .y_label("longest answer of a batch, times the mean")
        .note("counted in steps, 8192 requests; 1: nobody waits for anybody")
        .log_x();
    let mut factors = Vec::new();
    for (name, lengths) in kinds() {
        let line = SIZES.iter().map(|size| {
            let (lengths, plan) = plan_of(&lengths, seed, *size);
            (*size as f64, longest_over_mean(&lengths, &plan))
        });
        chart = chart.series(name, line.collect());
        let (lengths, plan) = plan_of(&lengths, seed, BATCH);
        let stays = stays(&lengths, &plan);
        factors.push(longest_over_mean(&lengths, &plan));
        let at = |percent| {
            let stay = percentile(&stays, percent);
            stay.map_or("-".to_owned(), |stay| format!("{stay:.1} x"))
        };
        table.row([
            name.to_owned(),
            format!("{:.2}", longest_over_mean(&lengths, &plan)),
            format!("{:.0} %", 100.0 * plan.useful_share()),
            at(50.0),
            at(99.0),
        ]);
    }
    story.table(&table);
    story.values("longest_over_mean", factors);
    story.say_as(
        term::Tone::Dim,
        "A short one has at most 32 tokens; how long it stays is told in its own steps.",
    );
    claim(story, seed);
    story.chart(&chart)?;
    Ok(())
}

fn claim(story: &mut Story, seed: u64) {
    let (name, mix) = kinds()[1];
    let (lengths, plan) = plan_of(&mix, seed, BATCH);
    let stays = stays(&lengths, &plan);
    let median = percentile(&stays, 50.0).unwrap_or(f64::NAN);
    let waiting = stays.iter().filter(|stay| **stay > 1.0).count() as f64 / stays.len() as f64;
    let verdict = match (median, waiting) {
        (median, _) if median >= 2.0 => Verdict::Holds,
        (_, waiting) if waiting > 0.1 => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    story.claim(Claim {
        id: "B5",
        claimed: "In a static batch short requests wait for the longest one",
        value: median,
        unit: "times its own steps, for a short answer in the median",
        verdict,
        note: &format!(
            "Counted, batches of {BATCH}, {name}: {:.0} % of the short answers have a long mate, and stay until it is done. With equal answers nobody waits.",
            100.0 * waiting
        ),
    });
}
