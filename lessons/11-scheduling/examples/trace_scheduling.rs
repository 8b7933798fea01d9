//! Records what the book's interactive figure shows: the rows of each request in each step, and which requests are
//! preempted, for every choice of budget, chunk, order, memory and preemption.
//!
//! ```text
//! cargo run -q -p lesson11 --example trace_scheduling > target/scheduling.json && mv target/scheduling.json book/figures/scheduling.json
//! ```
//!
//! The scheduler of this lesson runs over real blocks, with a runner that computes nothing. Time is virtual: a step of
//! `r` rows takes `19 + r` units, and one more for each block that is copied. A step is written as `23A1B1c8-D`: it
//! takes 23 units; A and B get a row and a token each; C gets eight rows and no token yet; D is preempted. `~D` is
//! preempted to the host pool. The figure's script plays these steps and makes the sentences.

use anyhow::ensure;
use continuous_batching::runner::NoModel;
use continuous_batching::{Delivery, Engine, EngineLimits};
use paged_cache::{BlockManager, Reserve};
use scheduling::policy::{
    FairQuota, Fcfs, LengthCap, PlacesPerClass, Policy, Priority, PriorityWithAgeing, ShortestPrompt,
};
use scheduling::{Class, Meta, Preemption, Scheduler, StepLimits, SwapSpace, TenantId};
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
    requests: Vec<Planned>,
    places: usize,
    block_size: usize,
    budgets: Vec<Choice<usize>>,
    chunks: Vec<Choice<usize>>,
    policies: Vec<Choice<String>>,
    memories: Vec<Choice<usize>>,
    preemptions: Vec<Choice<String>>,
    /// Which of `runs`, for each choice: the budget changes slowest, the preemption fastest.
    chosen: Vec<usize>,
    /// Different runs, each as its steps.
    runs: Vec<String>,
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
    /// Time of its arrival, in units.
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

/// Records the trace anew.
///
/// # Errors
/// A request that the engine refuses, or a run that leaves a block held.
pub fn record() -> anyhow::Result<Trace> {
    let mut trace = Trace {
        schema: 1,
        figure: "scheduling".into(),
        source: "cargo run -q -p lesson11 --example trace_scheduling".into(),
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
        let text = run(&trace.requests, &setting)?;
        let known = trace.runs.iter().position(|run| *run == text);
        trace.chosen.push(known.unwrap_or(trace.runs.len()));
        if known.is_none() {
            trace.runs.push(text);
        }
    }
    Ok(trace)
}

/// Two streams, one long patient prompt, and short urgent ones that keep coming.
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

fn engine(setting: &Setting) -> Engine<NoModel, SwapSpace, Scheduler, Meta> {
    let bound = |rows| if rows == 0 { usize::MAX } else { rows };
    let engine_limits = EngineLimits {
        max_running: PLACES,
        max_new_tokens: usize::MAX,
        max_seq_len: MAX_SEQ_LEN,
        vocab_size: 1,
        end_of_text: Vec::new(),
    };
    let limits = StepLimits {
        max_chunk_tokens: bound(setting.chunk),
        preemption: match setting.preemption.as_str() {
            "swap" => Preemption::Swap,
            _ => Preemption::Recompute,
        },
        ..StepLimits::with_budget(bound(setting.budget))
    };
    let blocks = BlockManager::new(setting.blocks, BLOCK_SIZE, MAX_SEQ_LEN);
    let blocks = blocks.without_prefix_cache().reserving(Reserve::Known);
    let memory = SwapSpace::new(blocks, 2 * MAX_SEQ_LEN / BLOCK_SIZE);
    let mut scheduler = Scheduler::new(limits, policy(&setting.policy));
    scheduler.start_trace();
    Engine::with(NoModel::new(1), memory, scheduler, engine_limits)
}

/// The engine on the figure's requests. Each is submitted before the first step that begins after its time. Returns the
/// steps, as the head of this file says.
fn run(requests: &[Planned], setting: &Setting) -> anyhow::Result<String> {
    ensure!(
        requests.is_sorted_by_key(|request| request.at),
        "the names are in the order of arrival"
    );
    let mut engine = engine(setting);
    let (mut now, mut arrived, mut text) = (0, 0, String::new());
    while arrived < requests.len() || !engine.is_idle() {
        if engine.is_idle() {
            now = now.max(requests[arrived].at);
        }
        while let Some(request) = requests.get(arrived)
            && request.at <= now
        {
            let meta = Meta {
                class: Class(request.class),
                tenant: TenantId(request.tenant),
                arrival: units(request.at),
                ..Meta::default()
            };
            engine.submit_with(&vec![TokenId(0); request.prompt], request.new, meta)?;
            arrived += 1;
        }
        let copied = engine.memory.stats().tokens;
        engine.scheduler.now = units(now);
        engine.step(&mut |_| Delivery::Taken)?;
        engine.check_invariants();
        let copied_blocks = (engine.memory.stats().tokens - copied).div_ceil(BLOCK_SIZE as u64);
        let took = STEP_UNITS + engine.batch.num_rows() as u64 + copied_blocks;
        let space = if text.is_empty() { "" } else { " " };
        write!(text, "{space}{took}")?;
        let step = engine.scheduler.trace().last().expect("a step was just taken");
        for share in &step.computed {
            let name = NAMES[share.id.0 as usize];
            let name = if share.wants_logits {
                name
            } else {
                name.to_ascii_lowercase()
            };
            write!(text, "{}{}", char::from(name), share.rows)?;
        }
        for preempted in &step.preempted {
            let sign = if preempted.stored > 0 { '~' } else { '-' };
            write!(text, "{sign}{}", char::from(NAMES[preempted.id.0 as usize]))?;
        }
        now += took;
    }
    ensure!(
        engine.memory.device.num_held() == 0 && engine.memory.num_stored() == 0,
        "a block is still held"
    );
    Ok(text)
}

#[allow(dead_code)] // The test that compares the file takes this module without its main.
fn main() -> anyhow::Result<()> {
    // A run or a setting on a line of its own: a change of one is a change of one line.
    let text = serde_json::to_string(&record()?)?;
    let text = text.replace("\",\"", "\",\n\"").replace("},{", "},\n{");
    lab::outln!("{text}");
    Ok(())
}
