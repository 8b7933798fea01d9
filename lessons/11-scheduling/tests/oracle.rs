//! Lesson 08's oracle, unchanged, over a scheduler that cuts prompts into chunks, lets requests sit out, sends them back and swaps them: budget x running
//! x blocks x block size x prefix cache x policy x preemption x cancellations. Each request gets the tokens that it gets alone, and at the end nothing is
//! held anywhere.
//!
//! 20 000 generated cases run each time, on four threads; `ORACLE_CASES=2000000 cargo test -p lesson11 --test oracle` runs as many as one has time for.

use continuous_batching::oracle::play::{Cancel, Interrupted, Planned, Played, play};
use continuous_batching::oracle::sweep::{caught, in_quarters, num_cases};
use continuous_batching::oracle::{Oracle, config, limits};
use continuous_batching::{Delivery, EngineLimits, Event, Memory, SeqId};
use paged_cache::{PagedCache, Pages, Promise};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use scheduling::policy::{
    FairQuota, Fcfs, LengthCap, PlacesPerClass, Policy, Priority, PriorityWithAgeing, ShortestPrompt,
};
use scheduling::{Class, Engine, Meta, Preemption, StepLimits, SwapSpace, TenantId};
use std::time::Duration;
use training::TokenId;

/// Tokens of one request at most.
const MAX_SEQ_LEN: usize = 16;
/// Generated cases of the whole sweep.
const CASES: u32 = 20_000;
/// Virtual time of one step.
const STEP: Duration = Duration::from_millis(10);

/// A setting and a plan.
#[derive(Clone, Debug)]
struct Case {
    block_size: usize,
    /// Blocks beyond those that the longest request needs.
    more_blocks: usize,
    max_running: usize,
    /// Rows of a step beyond one for each running request; `None`: no bound.
    more_rows: Option<usize>,
    chunk: usize,
    policy: u8,
    preemption: Preemption,
    host_tokens: usize,
    prefix_cache: bool,
    /// Tokens that end a text: that many of 97, so that some answers end early.
    num_ends: u32,
    /// Unused memory is overwritten with this after each step; not at all with `None`.
    poison: Option<f32>,
    plan: Vec<Planned>,
}

fn cancel() -> impl Strategy<Value = Option<Cancel>> {
    prop_oneof![
        3 => Just(None),
        1 => (0..16u64).prop_map(|wait| Some(Cancel::Before(wait))),
        1 => (0..16u64).prop_map(|wait| Some(Cancel::During(wait))),
        1 => (0..6usize).prop_map(|taken| Some(Cancel::Gone(taken))),
    ]
}

fn planned() -> impl Strategy<Value = Planned> {
    // Two different tokens, so that many prompts begin alike.
    let prompt = prop::collection::vec((0..2u32).prop_map(TokenId), 1..=MAX_SEQ_LEN);
    let new_tokens = prop_oneof![1 => Just(0), 1 => Just(1), 6 => 2..12usize, 1 => Just(100)];
    (0..8u64, prompt, new_tokens, cancel()).prop_map(|(arrives, mut prompt, max_new_tokens, cancel)| {
        if max_new_tokens % 2 == 0 {
            prompt.truncate(5);
        }
        Planned {
            arrives,
            prompt,
            max_new_tokens,
            cancel,
        }
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let poison = prop_oneof![Just(None), Just(Some(f32::NAN)), Just(Some(1e9))];
    let memory = (1..7usize, 0..8usize, any::<bool>(), poison);
    let preemption = prop_oneof![Just(Preemption::Recompute), Just(Preemption::Swap)];
    let schedule = (
        1..6usize,
        prop_oneof![1 => Just(None), 4 => (0..8usize).prop_map(Some)],
        prop_oneof![1 => Just(usize::MAX), 3 => 1..8usize],
        0..7u8,
        preemption,
        0..40usize,
        0..12u32,
    );
    (memory, schedule, prop::collection::vec(planned(), 1..9)).prop_map(|(memory, schedule, mut plan)| {
        plan.sort_by_key(|planned| planned.arrives);
        let (block_size, more_blocks, prefix_cache, poison) = memory;
        let (max_running, more_rows, chunk, policy, preemption, host_tokens, num_ends) = schedule;
        Case {
            block_size,
            more_blocks,
            max_running,
            more_rows,
            chunk,
            policy,
            preemption,
            host_tokens,
            prefix_cache,
            num_ends,
            poison,
            plan,
        }
    })
}

fn policy(number: u8) -> Box<dyn Policy> {
    match number {
        0 => Box::new(Fcfs),
        1 => Box::new(ShortestPrompt),
        2 => Box::new(Priority),
        3 => Box::new(PriorityWithAgeing { step: 2 * STEP }),
        4 => Box::new(FairQuota),
        5 => Box::new(PlacesPerClass { places: 1 }),
        _ => Box::new(LengthCap {
            prompt_tokens: 6,
            patience: 5 * STEP,
            inner: Fcfs,
        }),
    }
}

/// Lesson 11's engine as the oracle plays it.
struct Scheduled(Engine<Interrupted<Oracle>, PagedCache>);

impl Played for Scheduled {
    type Memory = SwapSpace<PagedCache>;

    fn prepare(&mut self) {
        self.0.runner.canceller = Some(self.0.canceller());
    }

    fn submit(&mut self, step: u64, planned: &Planned) -> SeqId {
        let len = planned.prompt.len() as u32;
        let meta = Meta {
            tenant: TenantId(len % 3),
            class: Class((len % 4) as u8),
        };
        let now = STEP * step as u32;
        let id = (self.0).submit(now, meta, &planned.prompt, planned.max_new_tokens);
        id.expect("the plan asks for what can be answered")
    }

    fn cancel(&mut self, id: SeqId) -> bool {
        self.0.cancel(id)
    }

    fn cancel_during(&mut self, id: SeqId) {
        self.0.runner.during.push(id);
    }

    fn step(&mut self, step: u64, on_event: &mut dyn FnMut(Event<'_>) -> Delivery) {
        let stepped = self.0.step(STEP * step as u32, on_event);
        stepped.expect("the oracle computes every batch");
    }

    fn is_idle(&self) -> bool {
        self.0.is_idle()
    }

    fn limits(&self) -> &EngineLimits {
        self.0.limits()
    }

    fn memory(&mut self) -> &mut SwapSpace<PagedCache> {
        &mut self.0.memory
    }

    fn check_invariants(&self) {
        self.0.check_invariants();
    }

    /// The oldest request gets a row in every step and is never sent back while it is the oldest. So all plans end within the rows of all requests,
    /// one after the other.
    fn most_steps(&self, plan: &[Planned]) -> u64 {
        (plan.len() * (MAX_SEQ_LEN + 2)) as u64
    }
}

/// What a case made use of.
const USED: [&str; 6] = [
    "prefix hits",
    "chunks",
    "preemptions",
    "swapped out",
    "swapped back",
    "recomputed tokens",
];

fn play_case(case: &Case) -> [u64; 6] {
    let engine_limits = EngineLimits {
        end_of_text: (3..3 + case.num_ends).map(TokenId).collect(),
        ..limits(MAX_SEQ_LEN, case.max_running)
    };
    let step_limits = match case.more_rows {
        None => StepLimits::whole_prompts(engine_limits),
        Some(more) => StepLimits::with_budget(engine_limits, case.max_running + more),
    };
    let step_limits = StepLimits {
        max_chunk_tokens: case.chunk,
        preemption: case.preemption,
        ..step_limits
    };
    let num_blocks = MAX_SEQ_LEN.div_ceil(case.block_size) + case.more_blocks;
    let pages = Pages::new(num_blocks, case.block_size, MAX_SEQ_LEN).promising(Promise::Known);
    let pages = match case.prefix_cache {
        true => pages,
        false => pages.without_prefix_cache(),
    };
    let cache = PagedCache::new(&config(MAX_SEQ_LEN), pages);
    let runner = Interrupted::new(Oracle::new(MAX_SEQ_LEN));
    let memory = SwapSpace::new(cache, case.host_tokens);
    let engine = Engine::new(runner, memory, step_limits, policy(case.policy));
    let mut engine = Scheduled(engine);
    play(&mut engine, &case.plan, &mut |memory| {
        if let Some(value) = case.poison {
            memory.device_mut().overwrite_unused(value);
        }
    });
    let memory = &engine.0.memory;
    let pages = memory.device().pages();
    assert_eq!(pages.num_held(), 0, "a block is still held");
    assert_eq!(pages.num_unpromised(), num_blocks, "a promise is left over");
    assert_eq!(memory.num_holders(), 0);
    let stats = engine.0.stats();
    [
        pages.stats().prefix_hits,
        stats.chunks,
        stats.preemptions,
        memory.stats().out,
        memory.stats().back,
        stats.recomputed_tokens,
    ]
}

/// A share of the sweep on a thread of its own, with its own seed.
fn sweep(share: u8) -> [u64; 6] {
    let config = Config {
        cases: num_cases(CASES) / 4,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[share; 32]);
    let totals = std::cell::RefCell::new([0; 6]);
    let result = TestRunner::new_with_rng(config, rng).run(&cases(), |case| {
        let counts = caught(|| play_case(&case)).map_err(TestCaseError::fail)?;
        for (total, count) in totals.borrow_mut().iter_mut().zip(counts) {
            *total += count;
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    totals.into_inner()
}

#[test]
fn no_schedule_changes_a_token_and_nothing_is_held_at_the_end() {
    let totals = in_quarters(sweep);
    for (name, total) in USED.iter().zip(totals) {
        assert!(total > 500, "{name}: {total}, so this was hardly tried");
    }
}
