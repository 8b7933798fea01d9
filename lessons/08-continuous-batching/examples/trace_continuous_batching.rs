//! Records what the book's interactive figure shows: which request holds which slot at which step, in static batches and in the engine.
//!
//! ```text
//! cargo run -q -p lesson08 --example trace_continuous_batching > target/continuous-batching.json && mv target/continuous-batching.json book/figures/continuous-batching.json
//! ```
//!
//! On the page readers move arrivals, so its script computes plans by itself. Before it shows anything it computes all runs that are recorded
//! here and compares them: every choice that the figure offers, and others with arrivals in no order.

use anyhow::{Context, ensure};
use continuous_batching::runner::NoModel;
use continuous_batching::trace::{Recorder, StepTrace};
use continuous_batching::{Delivery, Engine, EngineLimits, SeqId, Slots};
use serde::{Deserialize, Serialize};
use static_batching::plan::{StepRequest, static_plan};
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

/// The file `book/figures/continuous-batching.json`.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct Trace {
    schema: u32,
    figure: String,
    source: String,
    /// The engine's steps in the first run.
    steps: Vec<StepTrace>,
    mixes: Vec<Mix>,
    patterns: Vec<Pattern>,
    last_arrival: u64,
    runs: Vec<Run>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Mix {
    name: String,
    lengths: Vec<u64>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Pattern {
    name: String,
    every: u64,
}

/// The same requests twice. A seat is `[row or slot, first step, last step]`; steps count from 0.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Run {
    lengths: Vec<u64>,
    arrivals: Vec<u64>,
    slots: usize,
    #[serde(rename = "static")]
    fixed: Vec<[u64; 3]>,
    continuous: Vec<[u64; 3]>,
}

/// Records the trace anew.
///
/// # Errors
/// A run that the engine refuses, or in which a request moves or pauses.
pub fn record() -> anyhow::Result<Trace> {
    let runs = all_runs()?;
    let mix = |(name, lengths): (&str, &[u64])| Mix {
        name: name.into(),
        lengths: lengths.into(),
    };
    let pattern = |(name, every): (&str, u64)| Pattern {
        name: name.into(),
        every,
    };
    let first = &runs[0];
    Ok(Trace {
        schema: 1,
        figure: "continuous-batching".into(),
        source: "cargo run -q -p lesson08 --example trace_continuous_batching".into(),
        steps: in_engine(&first.lengths, &first.arrivals, first.slots)?.1,
        mixes: MIXES.map(mix).into(),
        patterns: PATTERNS.map(pattern).into(),
        last_arrival: LAST_ARRIVAL,
        runs,
    })
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
fn in_batches(lengths: &[u64], arrivals: &[u64], slots: usize) -> Vec<[u64; 3]> {
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
fn in_engine(lengths: &[u64], arrivals: &[u64], slots: usize) -> anyhow::Result<(Vec<[u64; 3]>, Vec<StepTrace>)> {
    let limits = EngineLimits {
        max_running: slots,
        max_new_tokens: usize::MAX,
        max_seq_len: MAX_SEQ_LEN,
        vocab_size: 1,
        end_of_text: Vec::new(),
    };
    let mut engine = Engine::new(NoModel::new(1), Slots::new(slots, MAX_SEQ_LEN), limits);
    let (queue, mut recorder) = (in_order(arrivals), Recorder::default());
    let mut submitted: Vec<SeqId> = Vec::new();
    while submitted.len() < queue.len() || !engine.is_idle() {
        while let Some(&request) = queue.get(submitted.len())
            && arrivals[request] <= engine.num_steps()
        {
            submitted.push(engine.submit(&PROMPT, lengths[request] as usize)?);
        }
        recorder.step(&mut engine, &mut |_| Delivery::Taken)?;
    }
    let mut seats = vec![[0; 3]; lengths.len()];
    for (&request, &id) in queue.iter().zip(&submitted) {
        let of_id = |step: &StepTrace| {
            let seat = step.computed.iter().find(|seat| seat.id == id)?;
            Some((seat.slot.0 as u64, step.step))
        };
        let held: Vec<(u64, u64)> = recorder.steps.iter().filter_map(of_id).collect();
        let (slot, first) = *held.first().context("a request that was never computed")?;
        let expected = (first..first + lengths[request]).map(|step| (slot, step));
        ensure!(expected.eq(held.iter().copied()), "{id} moved or paused: {held:?}");
        seats[request] = [slot, first, first + lengths[request] - 1];
    }
    Ok((seats, recorder.steps))
}

#[allow(dead_code)] // the test that compares the file takes this module without its main
fn main() -> anyhow::Result<()> {
    // One run a line: a change of one run is a change of one line.
    let text = serde_json::to_string(&record()?)?;
    lab::outln!("{}", text.replace("{\"lengths\"", "\n{\"lengths\""));
    Ok(())
}
