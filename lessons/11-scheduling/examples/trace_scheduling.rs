//! Records what the book's interactive figure shows: which rows of whom are in each step, who waits and who is sent back, for every choice of budget,
//! chunk, order, memory and way to give memory back.
//!
//! ```text
//! cargo run -q -p lesson11 --example trace_scheduling > target/scheduling.json && mv target/scheduling.json book/figures/scheduling.json
//! ```
//!
//! The engine of this lesson runs over real blocks, with a runner that computes nothing. Time is virtual: a step of `r` rows takes `19 + r` units, and one
//! more for each block that is copied. A step is written as `23A1B1c8-D`: it takes 23 units; A and B get a row and a token each; C gets eight rows and
//! no token yet; D is sent back. `~D` is sent back to the host pool.

use anyhow::{Context, ensure};
use continuous_batching::batch::Batch;
use continuous_batching::error::EngineError;
use continuous_batching::{Delivery, EngineLimits, Event, Memory, Runner, SeqId};
use paged_cache::{Pages, Promise};
use scheduling::policy::{
    FairQuota, Fcfs, LengthCap, PlacesPerClass, Policy, Priority, PriorityWithAgeing, ShortestPrompt,
};
use scheduling::{Class, Engine, Meta, Preemption, StepLimits, SwapSpace, TenantId};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::time::Duration;
use training::TokenId;

/// Names of the requests, as on the page.
const NAMES: &[u8] = b"ABCDEFGH";
/// Requests that may run at once.
const PLACES: usize = 3;
/// Positions of a block.
const BLOCK_SIZE: usize = 4;
/// Tokens of the longest request, and so the smallest memory on offer.
const MAX_SEQ_LEN: usize = 64;
/// A row is a unit of time, and a step takes this many besides.
const STEP_UNITS: u64 = 19;
/// Waiting that is worth one class, and waiting after which a long prompt is no longer held back.
const AGEING_UNITS: u64 = 100;
const PATIENCE_UNITS: u64 = 300;
/// Prompts beyond this are long ones.
const CAP_TOKENS: usize = 16;

/// The file `book/figures/scheduling.json`.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct Trace {
    schema: u32,
    figure: String,
    source: String,
    /// What happens in each step of the first run.
    steps: Vec<Said>,
    requests: Vec<Planned>,
    places: usize,
    block_size: usize,
    budgets: Vec<Choice<usize>>,
    chunks: Vec<Choice<usize>>,
    policies: Vec<Choice<String>>,
    memories: Vec<Choice<usize>>,
    preemptions: Vec<Choice<String>>,
    /// Which of `runs`, for each choice: the budget changes slowest, the way to give memory back fastest.
    chosen: Vec<usize>,
    /// Different runs, each as its steps.
    runs: Vec<String>,
}

/// A sentence that is read aloud.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Said {
    text: String,
}

/// One of several settings. 0 stands for no bound.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Choice<T> {
    name: String,
    value: T,
}

fn choice<T>(name: &str, value: T) -> Choice<T> {
    let name = name.into();
    Choice { name, value }
}

/// A request of the figure.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Planned {
    /// When it comes, in units.
    at: u64,
    prompt: usize,
    new: usize,
    class: u8,
    tenant: u32,
}

/// One setting of all that can be chosen.
struct Setting {
    budget: usize,
    chunk: usize,
    policy: String,
    blocks: usize,
    preemption: String,
}

/// One step as the engine did it.
#[derive(Debug)]
struct Stepped {
    units: u64,
    /// Of each request in the batch: who, how many rows, and whether a token came of it.
    rows: Vec<(usize, usize, bool)>,
    /// Who was sent back, and whether to the host pool.
    back: Vec<(usize, bool)>,
}

/// Records the trace anew.
///
/// # Errors
/// A run that the engine refuses, or that is not what the page will draw.
pub fn record() -> anyhow::Result<Trace> {
    let mut trace = Trace {
        schema: 1,
        figure: "scheduling".into(),
        source: "cargo run -q -p lesson11 --example trace_scheduling".into(),
        steps: Vec::new(),
        requests: requests(),
        places: PLACES,
        block_size: BLOCK_SIZE,
        budgets: vec![
            choice("no bound", 0),
            choice("32 rows", 32),
            choice("16 rows", 16),
            choice("8 rows", 8),
        ],
        chunks: vec![choice("no bound", 0), choice("8 rows", 8), choice("4 rows", 4)],
        policies: [
            "first come",
            "shortest prompt",
            "priority",
            "ageing",
            "a place per class",
            "fair quota",
            "length cap",
        ]
        .map(|name| choice(name, name.to_owned()))
        .into(),
        memories: vec![
            choice("32 blocks", 32),
            choice("24 blocks", 24),
            choice("18 blocks", 18),
        ],
        preemptions: vec![
            choice("recompute", "recompute".to_owned()),
            choice("swap", "swap".to_owned()),
        ],
        chosen: Vec::new(),
        runs: Vec::new(),
    };
    for setting in settings(&trace) {
        let steps = run(&trace.requests, &setting)?;
        if trace.runs.is_empty() {
            trace.steps = sentences(&trace.requests, &steps);
        }
        let text = encode(&steps);
        let known = trace.runs.iter().position(|run| *run == text);
        trace.chosen.push(known.unwrap_or(trace.runs.len()));
        if known.is_none() {
            trace.runs.push(text);
        }
    }
    Ok(trace)
}

/// Two streams, one long prompt that nobody is in a hurry for, and short urgent ones that keep coming.
fn requests() -> Vec<Planned> {
    let planned = |at, prompt, new, class, tenant| Planned {
        at,
        prompt,
        new,
        class,
        tenant,
    };
    vec![
        planned(0, 4, 20, 1, 1),
        planned(0, 6, 24, 1, 1),
        planned(50, 60, 4, 2, 1),
        planned(50, 8, 5, 0, 2),
        planned(60, 4, 6, 1, 1),
        planned(150, 4, 5, 0, 2),
        planned(250, 4, 5, 0, 2),
        planned(350, 4, 5, 0, 2),
    ]
}

/// Every choice that the figure offers, in the order of `chosen`.
fn settings(trace: &Trace) -> Vec<Setting> {
    let mut settings = Vec::new();
    for budget in &trace.budgets {
        for chunk in &trace.chunks {
            for policy in &trace.policies {
                for memory in &trace.memories {
                    for preemption in &trace.preemptions {
                        settings.push(Setting {
                            budget: budget.value,
                            chunk: chunk.value,
                            policy: policy.value.clone(),
                            blocks: memory.value,
                            preemption: preemption.value.clone(),
                        });
                    }
                }
            }
        }
    }
    settings
}

fn units(units: u64) -> Duration {
    Duration::from_millis(units)
}

fn policy(name: &str) -> Box<dyn Policy> {
    match name {
        "first come" => Box::new(Fcfs),
        "shortest prompt" => Box::new(ShortestPrompt),
        "priority" => Box::new(Priority),
        "ageing" => Box::new(PriorityWithAgeing {
            step: units(AGEING_UNITS),
        }),
        "a place per class" => Box::new(PlacesPerClass { places: 1 }),
        "fair quota" => Box::new(FairQuota),
        _ => Box::new(LengthCap {
            prompt_tokens: CAP_TOKENS,
            patience: units(PATIENCE_UNITS),
            inner: Fcfs,
        }),
    }
}

/// Computes nothing: it only takes and keeps the blocks of a batch, and its likeliest token is always the same.
struct Nothing(Vec<f32>);

impl Runner<SwapSpace<Pages>> for Nothing {
    fn forward(&mut self, memory: &mut SwapSpace<Pages>, batch: &Batch) -> Result<&mut [f32], EngineError> {
        memory.device_mut().begin(batch, &mut Vec::new())?;
        memory.device_mut().commit(batch);
        self.0.clear();
        self.0.resize(batch.sampling().count(), 0.0);
        Ok(&mut self.0)
    }
}

fn engine(setting: &Setting) -> Engine<Nothing, Pages> {
    let bound = |rows| if rows == 0 { usize::MAX } else { rows };
    let limits = StepLimits {
        engine: EngineLimits {
            max_running: PLACES,
            max_new_tokens: usize::MAX,
            max_seq_len: MAX_SEQ_LEN,
            vocab_size: 1,
            end_of_text: Vec::new(),
        },
        max_step_tokens: bound(setting.budget),
        max_chunk_tokens: bound(setting.chunk),
        preemption: match setting.preemption.as_str() {
            "swap" => Preemption::Swap,
            _ => Preemption::Recompute,
        },
        max_wait: None,
    };
    let pages = Pages::new(setting.blocks, BLOCK_SIZE, MAX_SEQ_LEN).without_prefix_cache();
    let memory = SwapSpace::new(pages.promising(Promise::Known), 2 * MAX_SEQ_LEN);
    Engine::new(Nothing(Vec::new()), memory, limits, policy(&setting.policy))
}

/// The engine of this lesson on the figure's requests. Each is submitted before the first step that begins after it came.
fn run(requests: &[Planned], setting: &Setting) -> anyhow::Result<Vec<Stepped>> {
    let mut engine = engine(setting);
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&i| requests[i].at);
    ensure!(order.is_sorted(), "the names are in the order of arrival");
    let mut page = Page::new(requests);
    let mut ids: Vec<SeqId> = Vec::new();
    let mut steps = Vec::new();
    while ids.len() < requests.len() || !engine.is_idle() {
        if engine.is_idle() {
            page.now = page.now.max(requests[ids.len()].at);
        }
        while let Some(request) = requests.get(ids.len())
            && request.at <= page.now
        {
            let meta = Meta {
                class: Class(request.class),
                tenant: TenantId(request.tenant),
            };
            let prompt = vec![TokenId(0); request.prompt];
            ids.push(engine.submit(units(request.at), meta, &prompt, request.new)?);
        }
        let step = step(&mut engine, &ids, page.now)?;
        page.take(&step);
        page.check(&engine, &ids)?;
        steps.push(step);
    }
    ensure!(engine.memory.num_holders() == 0, "somebody kept a block");
    let all = page.states.iter().zip(requests);
    ensure!(all.clone().all(|(state, request)| state.produced == request.new));
    Ok(steps)
}

/// One step, and what is to be seen of it from outside.
fn step(engine: &mut Engine<Nothing, Pages>, ids: &[SeqId], now: u64) -> anyhow::Result<Stepped> {
    let who = |id: SeqId| ids.iter().position(|other| *other == id);
    let sent_back = |engine: &Engine<Nothing, Pages>| -> Vec<(usize, u32, bool)> {
        let waiting = engine.queues.waiting.iter();
        let seen = |entry: &scheduling::entry::Entry| Some((who(entry.id())?, entry.preemptions, entry.is_swapped()));
        waiting.filter_map(seen).collect()
    };
    let before: Vec<u32> = (ids.iter())
        .map(|id| {
            let all = engine.queues.waiting.iter().chain(&engine.queues.running);
            let mut found = all.filter(|entry| entry.id() == *id);
            found.next().map_or(0, |entry| entry.preemptions)
        })
        .collect();
    let copied = engine.memory.stats().tokens;
    let mut told = Vec::new();
    engine.step(units(now), &mut |event| {
        if let Event::Token { id, .. } = event {
            told.push(id);
        }
        Delivery::Taken
    })?;
    engine.check_invariants();
    let copied = (engine.memory.stats().tokens - copied).div_ceil(BLOCK_SIZE as u64);
    let mut rows = Vec::new();
    for sequence in &engine.batch.sequences {
        let who = who(sequence.id).context("a stranger in the batch")?;
        rows.push((who, sequence.num_rows, told.contains(&sequence.id)));
    }
    let back = sent_back(engine).into_iter();
    Ok(Stepped {
        units: STEP_UNITS + engine.batch.num_rows() as u64 + copied,
        rows,
        back: back
            .filter(|(who, preemptions, _)| *preemptions > before[*who])
            .map(|(who, _, is_swapped)| (who, is_swapped))
            .collect(),
    })
}

/// `23A1B1c8-D`, as the head of this file says.
fn encode(steps: &[Stepped]) -> String {
    let mut text = String::new();
    for (i, step) in steps.iter().enumerate() {
        let space = if i == 0 { "" } else { " " };
        let _ = write!(text, "{space}{}", step.units);
        for (who, rows, has_token) in &step.rows {
            let letter = name(*who);
            let letter = if *has_token { letter } else { letter.to_lowercase() };
            let _ = write!(text, "{letter}{rows}");
        }
        for (who, is_swapped) in &step.back {
            let _ = write!(text, "{}{}", if *is_swapped { "~" } else { "-" }, name(*who));
        }
    }
    text
}

/// What the page knows: it follows the requests from what a step says, by the rules of [`Page::take`].
struct Page<'a> {
    requests: &'a [Planned],
    now: u64,
    states: Vec<State>,
}

#[derive(Clone, Default)]
struct State {
    is_in: bool,
    /// Tokens whose keys and values are in blocks, and those in the host pool.
    kept: usize,
    stored: usize,
    produced: usize,
}

/// What a step did, as it is said.
#[derive(Default)]
struct Happened {
    rows: Vec<String>,
    back: Vec<String>,
    joined: Vec<usize>,
    returned: Vec<usize>,
    ended: Vec<usize>,
    sits_out: Vec<usize>,
    waits: Vec<usize>,
}

impl<'a> Page<'a> {
    fn new(requests: &'a [Planned]) -> Page<'a> {
        let states = vec![State::default(); requests.len()];
        Page {
            requests,
            now: 0,
            states,
        }
    }

    fn is_over(&self, who: usize) -> bool {
        self.states[who].produced == self.requests[who].new
    }

    fn take(&mut self, step: &Stepped) -> Happened {
        let mut happened = Happened::default();
        for &(who, is_swapped) in &step.back {
            let kept = std::mem::take(&mut self.states[who].kept);
            self.states[who].is_in = false;
            self.states[who].stored = if is_swapped { kept } else { 0 };
            let what = if is_swapped { "copies" } else { "forgets" };
            (happened.back).push(format!("{} is sent back and {what} {kept}", name(who)));
        }
        let began = self.now;
        for &(who, rows, has_token) in &step.rows {
            let state = &mut self.states[who];
            if !state.is_in && state.stored > 0 {
                state.kept = std::mem::take(&mut state.stored);
                happened.returned.push(who);
            } else if !state.is_in {
                happened.joined.push(who);
            }
            state.is_in = true;
            let missing = self.requests[who].prompt + state.produced - state.kept;
            (happened.rows).push(match missing {
                1 => format!("{} 1", name(who)),
                _ => format!("{} {rows} of {missing}", name(who)),
            });
            state.kept += rows;
            state.produced += usize::from(has_token);
            if self.is_over(who) {
                happened.ended.push(who);
                self.states[who] = State {
                    produced: self.states[who].produced,
                    ..State::default()
                };
            }
        }
        self.now += step.units;
        for who in 0..self.requests.len() {
            let has_rows = step.rows.iter().any(|(other, ..)| *other == who);
            if self.states[who].is_in && !has_rows {
                happened.sits_out.push(who);
            }
            let is_there = self.requests[who].at <= began && !self.is_over(who);
            if is_there && !self.states[who].is_in {
                happened.waits.push(who);
            }
        }
        happened
    }

    /// What the page draws is what the engine holds.
    fn check(&self, engine: &Engine<Nothing, Pages>, ids: &[SeqId]) -> anyhow::Result<()> {
        let pages = engine.memory.device();
        for (who, id) in ids.iter().enumerate() {
            let state = &self.states[who];
            ensure!(state.is_in == pages.holds(*id), "who holds blocks");
            if let Some(table) = pages.table(*id) {
                ensure!(table.len == state.kept, "{id} keeps {}", table.len);
                ensure!(table.blocks.len() == state.kept.div_ceil(BLOCK_SIZE));
            }
        }
        let stored = self.states.iter().filter(|state| state.stored > 0).count();
        ensure!(stored == engine.memory.num_stored(), "who is in the pool");
        Ok(())
    }
}

/// What happens in each step, as the page says it too.
fn sentences(requests: &[Planned], steps: &[Stepped]) -> Vec<Said> {
    let mut page = Page::new(requests);
    let mut said = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let happened = page.take(step);
        let mut text = format!("Step {}, {} units: {}.", i + 1, step.units, happened.rows.join(", "));
        for back in &happened.back {
            let _ = write!(text, " {back}.");
        }
        let mut add = |who: &[usize], one: &str, many: &str| {
            if !who.is_empty() {
                let _ = write!(text, " {}.", verb(who, one, many));
            }
        };
        add(&happened.joined, "joins", "join");
        add(
            &happened.returned,
            "comes back from the pool",
            "come back from the pool",
        );
        add(&happened.ended, "has all its tokens", "have all their tokens");
        add(&happened.sits_out, "sits out", "sit out");
        add(&happened.waits, "waits", "wait");
        said.push(Said { text });
    }
    said
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
    // A run or a setting a line: a change of one shows as a change of one.
    let text = serde_json::to_string(&record()?)?;
    let text = text.replace("\",\"", "\",\n\"").replace("},{", "},\n{");
    lab::outln!("{text}");
    Ok(())
}
