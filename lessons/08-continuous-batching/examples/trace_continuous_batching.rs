//! Records what the book's interactive figure shows: who sits in which slot at which step, in static batches and in the engine.
//!
//! ```text
//! cargo run -q -p lesson08 --example trace_continuous_batching > target/continuous-batching.json && mv target/continuous-batching.json book/figures/continuous-batching.json
//! ```
//!
//! The page lets readers move arrivals, so it computes plans by itself. It shows nothing before it has computed all the runs recorded here and
//! found them equal: every choice that the figure offers, and as many more with arrivals in no order.

use anyhow::ensure;
use continuous_batching::oracle::{self, Oracle};
use continuous_batching::slot_cache::SlotCache;
use continuous_batching::trace::StepTrace;
use continuous_batching::{Delivery, Engine, Memory, SeqId, Status};
use serde::{Deserialize, Serialize};
use static_batching::plan::{StepRequest, static_plan};
use training::TokenId;

/// Names of the requests, as on the page.
const NAMES: &[u8] = b"ABCDEFGH";
/// Tokens of each prompt; the figure does not show them.
const PROMPT: [TokenId; 3] = [TokenId(1), TokenId(2), TokenId(3)];
/// Room for the prompt and the longest answer.
const MAX_SEQ_LEN: usize = 16;
/// Most slots, and the last step at which somebody may arrive.
const MAX_SLOTS: usize = 4;
const LAST_ARRIVAL: u64 = 15;
/// Runs with arrivals in no order.
const SCATTERED: u64 = 48;

/// The file `book/figures/continuous-batching.json`.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct Trace {
    schema: u32,
    figure: String,
    source: String,
    /// What happens in each step of the first run.
    steps: Vec<Step>,
    mixes: Vec<Mix>,
    patterns: Vec<Pattern>,
    last_arrival: u64,
    runs: Vec<Run>,
}

/// A sentence that is read aloud.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Step {
    text: String,
}

/// Lengths to choose from, in new tokens.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Mix {
    name: String,
    lengths: Vec<u64>,
}

/// Arrivals to choose from: request `i` comes before step `i · every`.
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
/// A run that the engine refuses, or whose trace contradicts itself.
pub fn record() -> anyhow::Result<Trace> {
    let mix = |name: &str, lengths: &[u64]| Mix {
        name: name.into(),
        lengths: lengths.to_vec(),
    };
    let pattern = |name: &str, every| Pattern {
        name: name.into(),
        every,
    };
    let mixes = vec![
        mix("2, 8, 3, 3", &[2, 8, 3, 3]),
        mix("all equal", &[4; 8]),
        mix("mostly short, some long", &[2, 3, 12, 2, 2, 9, 3, 2]),
        mix("very unequal", &[1, 5, 2, 12, 3, 1, 8, 4]),
    ];
    let patterns = vec![
        pattern("all at once", 0),
        pattern("one at each step", 1),
        pattern("one every two steps", 2),
    ];
    let runs = all_runs(&mixes, &patterns)?;
    Ok(Trace {
        schema: 1,
        figure: "continuous-batching".into(),
        source: "cargo run -q -p lesson08 --example trace_continuous_batching".into(),
        steps: sentences(&runs[0]),
        mixes,
        patterns,
        last_arrival: LAST_ARRIVAL,
        runs,
    })
}

/// Every choice of the figure, the one that it begins with first, and then the scattered ones.
fn all_runs(mixes: &[Mix], patterns: &[Pattern]) -> anyhow::Result<Vec<Run>> {
    let mut runs = Vec::new();
    for mix in mixes {
        for pattern in patterns {
            for slots in [2, 1, 3, MAX_SLOTS] {
                let arrivals = (0..mix.lengths.len() as u64).map(|i| i * pattern.every);
                runs.push(run(&mix.lengths, arrivals.collect(), slots)?);
            }
        }
    }
    let mut numbers = Numbers(SCATTERED);
    for i in 0..SCATTERED {
        let lengths = &mixes[(i % mixes.len() as u64) as usize].lengths;
        let arrivals = lengths.iter().map(|_| numbers.below(LAST_ARRIVAL + 1));
        let slots = 1 + (i / 4) as usize % MAX_SLOTS;
        runs.push(run(lengths, arrivals.collect(), slots)?);
    }
    Ok(runs)
}

/// The same numbers in each run of the program (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

fn run(lengths: &[u64], arrivals: Vec<u64>, slots: usize) -> anyhow::Result<Run> {
    let mut queue: Vec<usize> = (0..lengths.len()).collect();
    queue.sort_by_key(|&request| arrivals[request]);
    Ok(Run {
        fixed: in_batches(lengths, &arrivals, &queue, slots),
        continuous: in_engine(lengths, &arrivals, &queue, slots)?,
        lengths: lengths.to_vec(),
        arrivals,
        slots,
    })
}

/// Lesson 07's plan.
fn in_batches(lengths: &[u64], arrivals: &[u64], queue: &[usize], slots: usize) -> Vec<[u64; 3]> {
    let requests: Vec<StepRequest> = (queue.iter())
        .map(|&request| StepRequest {
            arrives: arrivals[request],
            prompt_tokens: PROMPT.len(),
            new_tokens: lengths[request] as usize,
        })
        .collect();
    let plan = static_plan(&requests, slots);
    let mut seats = vec![[0; 3]; lengths.len()];
    for batch in &plan.batches {
        for (row, &place) in batch.requests.iter().enumerate() {
            let outcome = plan.outcomes[place];
            seats[queue[place]] = [row as u64, outcome.started, outcome.finished - 1];
        }
    }
    seats
}

/// The engine of this lesson over real slots. Each request is submitted before the step at which it arrives.
fn in_engine(lengths: &[u64], arrivals: &[u64], queue: &[usize], slots: usize) -> anyhow::Result<Vec<[u64; 3]>> {
    let mut engine = engine(slots);
    engine.start_trace();
    let mut submitted: Vec<SeqId> = Vec::new();
    while submitted.len() < queue.len() || !engine.is_idle() {
        while let Some(&request) = queue.get(submitted.len())
            && arrivals[request] <= engine.num_steps()
        {
            submitted.push(engine.submit(&PROMPT, lengths[request] as usize)?);
        }
        engine.step(&mut |_| Delivery::Taken)?;
        engine.check_invariants();
    }
    ensure!(engine.memory.num_holders() == 0, "somebody kept a slot");

    let mut seats = vec![[0; 3]; lengths.len()];
    for (&request, &id) in queue.iter().zip(&submitted) {
        seats[request] = seat(id, engine.trace())?;
        let [_, first, last] = seats[request];
        ensure!(last + 1 - first == lengths[request], "a step gives a token");
        let waited = (engine.trace().iter()).filter(|step| step.waiting.contains(&id));
        let steps: Vec<u64> = waited.map(|step| step.step).collect();
        let expected: Vec<u64> = (arrivals[request]..first).collect();
        ensure!(steps == expected, "{id} waited in steps {steps:?}");
    }
    Ok(seats)
}

/// An engine over the oracle and real slots. Nothing ends a text before its length.
fn engine(slots: usize) -> Engine<Oracle, SlotCache> {
    let oracle = Oracle::new(MAX_SEQ_LEN);
    let cache = SlotCache::new(oracle.config(), slots, MAX_SEQ_LEN);
    Engine::new(oracle, cache, oracle::limits(MAX_SEQ_LEN, slots))
}

/// Where one request sat, and from which step to which.
fn seat(id: SeqId, trace: &[StepTrace]) -> anyhow::Result<[u64; 3]> {
    let mut seat: Option<[u64; 3]> = None;
    for step in trace {
        for computed in step.computed.iter().filter(|computed| computed.id == id) {
            let slot = computed.slot.map_or(0, |slot| slot.0 as u64);
            let [kept, first, last] = *seat.get_or_insert([slot, step.step, step.step]);
            ensure!(kept == slot, "{id} moved from slot {kept} to {slot}");
            let is_first = first == step.step;
            ensure!(is_first == (computed.status == Status::Prefilling));
            ensure!(is_first || last + 1 == step.step, "{id} left out a step");
            seat = Some([slot, first, step.step]);
        }
    }
    seat.ok_or_else(|| anyhow::anyhow!("{id} was never computed"))
}

/// What happens in each step, as the page says it too.
fn sentences(run: &Run) -> Vec<Step> {
    let steps = last_step(&run.fixed).max(last_step(&run.continuous)) + 1;
    let text = |step| {
        format!(
            "Step {}. Static: {}. Continuous: {}.",
            step + 1,
            happens(run, &run.fixed, step, true),
            happens(run, &run.continuous, step, false),
        )
    };
    (0..steps).map(|step| Step { text: text(step) }).collect()
}

fn last_step(seats: &[[u64; 3]]) -> u64 {
    seats.iter().map(|seat| seat[2]).max().unwrap_or(0)
}

/// One side of a sentence.
fn happens(run: &Run, seats: &[[u64; 3]], step: u64, is_static: bool) -> String {
    if step > last_step(seats) {
        return "all done".into();
    }
    let found = |is: &dyn Fn(usize, [u64; 3]) -> bool| -> Vec<usize> {
        (0..seats.len()).filter(|&i| is(i, seats[i])).collect()
    };
    // A batch holds its rows until its longest is done.
    let held_until = |first: u64| {
        let batch = seats.iter().filter(|seat| seat[1] == first);
        batch.map(|seat| seat[2]).max().unwrap_or(0)
    };
    let mut said = Vec::new();
    let joins = found(&|_, [_, first, _]| first == step);
    if !joins.is_empty() && is_static {
        said.push(verb(&joins, "starts", "start"));
    } else if !joins.is_empty() {
        let takes = |&i: &usize| format!("{} takes slot {}", name(i), seats[i][0]);
        said.push(joins.iter().map(takes).collect::<Vec<_>>().join(", "));
    }
    let idle = found(&|_, [_, first, last]| is_static && last < step && step <= held_until(first));
    if !idle.is_empty() {
        let (one, many) = ("is done and its row computes", "are done and their rows compute");
        said.push(verb(&idle, one, many) + " for nobody");
    }
    let ends = found(&|_, [_, _, last]| last == step);
    if !ends.is_empty() {
        said.push(verb(&ends, "gets its last token", "get their last tokens"));
    }
    let mut waiting = found(&|i, [_, first, _]| run.arrivals[i] <= step && step < first);
    waiting.sort_by_key(|&i| run.arrivals[i]);
    if !waiting.is_empty() {
        said.push(verb(&waiting, "waits", "wait"));
    }
    let runs = found(&|_, [_, first, last]| first <= step && step <= last);
    match (said.is_empty(), runs.is_empty()) {
        (false, _) => said.join("; "),
        (true, false) => "nothing changes".into(),
        (true, true) => "nobody is there".into(),
    }
}

fn name(request: usize) -> String {
    char::from(NAMES[request]).to_string()
}

/// "A and B wait".
fn verb(requests: &[usize], one: &str, many: &str) -> String {
    let mut names: Vec<String> = requests.iter().map(|&i| name(i)).collect();
    let last = names.pop().unwrap_or_default();
    match names.is_empty() {
        true => format!("{last} {one}"),
        false => format!("{} and {last} {many}", names.join(", ")),
    }
}

#[allow(dead_code)] // the test that compares the file takes this module without its main
fn main() -> anyhow::Result<()> {
    // One run a line: a change of one shows as a change of one.
    let text = serde_json::to_string(&record()?)?;
    lab::outln!("{}", text.replace("{\"lengths\"", "\n{\"lengths\""));
    Ok(())
}
