//! Records what the book's interactive figure shows: which request holds which slot at which step, in static batches
//! and in the engine.
//!
//! ```text
//! cargo run -q -p lesson08 --example trace_continuous_batching > target/continuous-batching.json && mv target/continuous-batching.json book/figures/continuous-batching.json
//! ```
//!
//! On the page readers move arrivals, so its script computes plans by itself. Before it shows anything it computes all
//! runs that are recorded here and compares them: every choice that the figure offers, and others with arrivals in no
//! order.

#[allow(
    clippy::duplicate_mod,
    reason = "the suite takes the story's trace, and this example too"
)]
#[path = "../src/story/trace.rs"]
mod trace;

use anyhow::{Context, ensure};
use continuous_batching::runner::NoModel;
use continuous_batching::{Delivery, Engine, EngineLimits, SeqId, Slots};
use serde::Serialize;
use serde_json::{Value, json};
use static_batching::plan::{StepRequest, static_plan};
use trace::StepTrace;
use training::TokenId;

/// Tokens of each prompt and of the longest sequence; the figure does not show them.
const PROMPT: [TokenId; 3] = [TokenId(0); 3];
const MAX_SEQ_LEN: usize = 16;
/// Largest number of slots, and the last step at which a request may arrive.
const MAX_SLOTS: usize = 4;
const LAST_ARRIVAL: u64 = 15;
/// Number of runs with arrivals in no order.
const SCATTERED: u64 = 48;
/// Lengths to choose from, in new tokens.
const MIXES: [(&str, &[u64]); 4] = [
    ("2, 8, 3, 3", &[2, 8, 3, 3]),
    ("all equal", &[4; 8]),
    ("mostly short, some long", &[2, 3, 12, 2, 2, 9, 3, 2]),
    ("very unequal", &[1, 5, 2, 12, 3, 1, 8, 4]),
];
/// Arrivals to choose from: request `i` comes before step `i · every`.
const PATTERNS: [(&str, u64); 3] = [("all at once", 0), ("one at each step", 1), ("one every two steps", 2)];

/// The same requests twice: which row or slot each of them holds, from which step to which.
#[derive(Serialize)]
struct Run {
    lengths: Vec<u64>,
    arrivals: Vec<u64>,
    slots: usize,
    #[serde(rename = "static")]
    fixed: Vec<Seat>,
    continuous: Vec<Seat>,
}

/// Row or slot, first step, last step; steps count from 0.
type Seat = [u64; 3];

/// The file `book/figures/continuous-batching.json`. Its `steps` are the engine's in the first run.
///
/// # Errors
/// A run that the engine refuses, or in which a request moves or pauses.
pub fn record() -> anyhow::Result<Value> {
    let runs = all_runs()?;
    let (_, steps) = in_engine(&runs[0].lengths, &runs[0].arrivals, runs[0].slots)?;
    Ok(json!({
        "schema": 1,
        "figure": "continuous-batching",
        "source": "cargo run -q -p lesson08 --example trace_continuous_batching",
        "steps": steps,
        "mixes": MIXES.map(|(name, lengths)| json!({ "name": name, "lengths": lengths })),
        "patterns": PATTERNS.map(|(name, every)| json!({ "name": name, "every": every })),
        "last_arrival": LAST_ARRIVAL,
        "runs": runs,
    }))
}

/// Every choice of the figure, the one that it begins with first, and then the scattered ones.
fn all_runs() -> anyhow::Result<Vec<Run>> {
    let mut runs = Vec::new();
    for (_, lengths) in MIXES {
        for (_, every) in PATTERNS {
            for slots in [2, 1, 3, MAX_SLOTS] {
                let arrivals = (0..lengths.len() as u64).map(|i| i * every);
                runs.push(run(lengths, arrivals.collect(), slots)?);
            }
        }
    }
    // The same numbers each time (splitmix64).
    let mut state = SCATTERED;
    let mut below = |end: u64| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    };
    for i in 0..SCATTERED {
        let lengths = MIXES[i as usize % MIXES.len()].1;
        let arrivals = lengths.iter().map(|_| below(LAST_ARRIVAL + 1)).collect();
        runs.push(run(lengths, arrivals, 1 + (i / 4) as usize % MAX_SLOTS)?);
    }
    Ok(runs)
}

fn run(lengths: &[u64], arrivals: Vec<u64>, slots: usize) -> anyhow::Result<Run> {
    Ok(Run {
        fixed: in_batches(lengths, &arrivals, slots),
        continuous: in_engine(lengths, &arrivals, slots)?.0,
        lengths: lengths.to_vec(),
        arrivals,
        slots,
    })
}

/// Indices of the requests in the order in which they arrive.
fn in_order(arrivals: &[u64]) -> Vec<usize> {
    let mut queue: Vec<usize> = (0..arrivals.len()).collect();
    queue.sort_by_key(|&request| arrivals[request]);
    queue
}

/// Lesson 07's plan.
fn in_batches(lengths: &[u64], arrivals: &[u64], slots: usize) -> Vec<Seat> {
    let queue = in_order(arrivals);
    let request = |&request: &usize| StepRequest {
        arrives: arrivals[request],
        prompt_tokens: PROMPT.len(),
        new_tokens: lengths[request] as usize,
    };
    let plan = static_plan(&queue.iter().map(request).collect::<Vec<_>>(), slots);
    let mut seats = vec![[0; 3]; lengths.len()];
    for batch in &plan.batches {
        for (row, &place) in batch.requests.iter().enumerate() {
            let outcome = plan.outcomes[place];
            seats[queue[place]] = [row as u64, outcome.started, outcome.finished - 1];
        }
    }
    seats
}

/// This lesson's engine and its steps. Each request is submitted before the step at which it arrives.
fn in_engine(lengths: &[u64], arrivals: &[u64], slots: usize) -> anyhow::Result<(Vec<Seat>, Vec<StepTrace>)> {
    let limits = EngineLimits {
        max_running: slots,
        max_new_tokens: usize::MAX,
        max_seq_len: MAX_SEQ_LEN,
        vocab_size: 1,
        end_of_text: Vec::new(),
    };
    let mut engine = Engine::new(NoModel::new(1), Slots::new(slots, MAX_SEQ_LEN), limits);
    let (queue, mut steps) = (in_order(arrivals), Vec::new());
    let mut submitted: Vec<SeqId> = Vec::new();
    while submitted.len() < queue.len() || !engine.is_idle() {
        while let Some(&request) = queue.get(submitted.len())
            && arrivals[request] <= engine.num_steps()
        {
            submitted.push(engine.submit(&PROMPT, lengths[request] as usize)?);
        }
        steps.extend(trace::step(&mut engine, &mut |_| Delivery::Taken)?);
    }
    let mut seats = vec![[0; 3]; lengths.len()];
    for (&request, &id) in queue.iter().zip(&submitted) {
        let of_id = |step: &StepTrace| {
            let seat = step.computed.iter().find(|seat| seat.id == id)?;
            Some((seat.slot.0 as u64, step.step))
        };
        let held: Vec<(u64, u64)> = steps.iter().filter_map(of_id).collect();
        let (slot, first) = *held.first().context("a request that was never computed")?;
        let expected = (first..first + lengths[request]).map(|step| (slot, step));
        ensure!(expected.eq(held.iter().copied()), "{id} moved or paused: {held:?}");
        seats[request] = [slot, first, first + lengths[request] - 1];
    }
    Ok((seats, steps))
}

#[allow(dead_code)] // the test that compares the file takes this module without its main
fn main() -> anyhow::Result<()> {
    // One run a line: a change of one run is a change of one line.
    let text = serde_json::to_string(&record()?)?;
    lab::outln!("{}", text.replace("{\"arrivals\"", "\n{\"arrivals\""));
    Ok(())
}
