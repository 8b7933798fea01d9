//! Lesson 08's oracle, unchanged, over a scheduler that cuts prompts into chunks, lets requests sit out, preempts and
//! swaps them: budget x running x blocks x block size x prefix cache x policy x preemption x cancellations. Each
//! request gets the tokens that it gets alone, and at the end no memory is held.
//!
//! 20 000 generated cases run each time, on four threads;
//! `ORACLE_CASES=2000000 cargo test -p lesson11 --test suite oracle` runs more.

use continuous_batching::oracle::play::{Cancel, Interrupted, Planned, play};
use continuous_batching::oracle::sweep::{caught, in_quarters, num_cases};
use continuous_batching::oracle::{Oracle, config, limits};
use continuous_batching::{Engine, EngineLimits};
use paged_cache::{BlockManager, PagedCache, Reserve};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use scheduling::policy::{
    FairQuota, Fcfs, Lane, LengthCap, PlacesPerClass, Policy, Priority, PriorityWithAgeing, ShortestPrompt,
};
use scheduling::{Class, Meta, Preemption, Scheduler, StepLimits, SwapSpace, TenantId};
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
    host_blocks: usize,
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
        0..8u8,
        preemption,
        0..20usize,
        0..12u32,
    );
    (memory, schedule, prop::collection::vec(planned(), 1..9)).prop_map(|(memory, schedule, mut plan)| {
        plan.sort_by_key(|planned| planned.arrives);
        let (block_size, more_blocks, prefix_cache, poison) = memory;
        let (max_running, more_rows, chunk, policy, preemption, host_blocks, num_ends) = schedule;
        Case {
            block_size,
            more_blocks,
            max_running,
            more_rows,
            chunk,
            policy,
            preemption,
            host_blocks,
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
        6 => Box::new(Lane {
            from: Class(1),
            places: 1,
        }),
        _ => Box::new(LengthCap {
            prompt_tokens: 6,
            patience: 5 * STEP,
            inner: Fcfs,
        }),
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
        None => StepLimits::whole_prompts(),
        Some(more) => StepLimits::with_budget(case.max_running + more),
    };
    let step_limits = StepLimits {
        max_chunk_tokens: case.chunk,
        preemption: case.preemption,
        ..step_limits
    };
    let num_blocks = MAX_SEQ_LEN.div_ceil(case.block_size) + case.more_blocks;
    let blocks = BlockManager::new(num_blocks, case.block_size, MAX_SEQ_LEN).reserving(Reserve::Known);
    let blocks = match case.prefix_cache {
        true => blocks,
        false => blocks.without_prefix_cache(),
    };
    let memory = SwapSpace::new(blocks, case.host_blocks);
    let cache = PagedCache::new(&config(MAX_SEQ_LEN), memory.num_blocks(), case.block_size);
    let runner = Interrupted::new(Oracle::new(MAX_SEQ_LEN, cache));
    let scheduler = Scheduler::new(step_limits, policy(case.policy));
    let mut engine = Engine::with(runner, memory, scheduler, engine_limits);
    let mut attach = |step: u64, index: usize| {
        let len = case.plan[index].prompt.len() as u32;
        Meta {
            tenant: TenantId(len % 3),
            class: Class((len % 4) as u8),
            arrival: STEP * step as u32,
            ..Meta::default()
        }
    };
    play(&mut engine, &case.plan, &mut attach, &mut |engine| {
        engine.scheduler.now += STEP;
        if let Some(value) = case.poison {
            engine.runner.inner.cache.overwrite_unused(&engine.memory.device, value);
        }
    });
    let memory = &engine.memory;
    assert_eq!(memory.device.num_held(), 0, "a block is still held");
    assert_eq!(memory.num_stored(), 0, "a sequence is still in the host pool");
    let stats = engine.scheduler.stats();
    [
        memory.device.stats().prefix_hits,
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
