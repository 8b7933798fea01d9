//! Lesson 08's oracle, unchanged, over blocks: for every block size and number of blocks, with any sharing between
//! requests and any cancellation, each request gets the tokens that it gets alone, and at the end no block is held.
//!
//! 24 000 generated cases run each time, on four threads;
//! `ORACLE_CASES=2000000 cargo test -p lesson10 --test suite oracle` runs more.

use continuous_batching::oracle::play::{Cancel, Interrupted, Planned, play};
use continuous_batching::oracle::sweep::{caught, in_quarters, num_cases};
use continuous_batching::oracle::{Oracle, config, limits};
use continuous_batching::{Engine, EngineLimits, FirstCome, SeqId};
use paged_cache::hash::Salt;
use paged_cache::{BlockManager, PagedCache, Sharing};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use training::TokenId;

/// Tokens of one request at most.
const MAX_SEQ_LEN: usize = 16;
/// Generated cases of the whole sweep.
const CASES: u32 = 24_000;

/// A setting and a plan.
#[derive(Clone, Debug)]
struct Case {
    block_size: usize,
    /// Blocks beyond those that the longest request needs.
    more_blocks: usize,
    max_running: usize,
    prefix_cache: bool,
    /// Tokens that end a text: that many of 97, so that some answers end early.
    num_ends: u32,
    /// Unused memory is overwritten with this after each step; not at all with `None`.
    poison: Option<f32>,
    plan: Vec<(Planned, Family)>,
}

/// What a request has to do with the one before it in the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Family {
    Stranger,
    /// Another tenant: nothing is shared.
    Tenant(u64),
    /// The same prompt, taken over as blocks.
    Sibling,
}

fn cancel() -> impl Strategy<Value = Option<Cancel>> {
    prop_oneof![
        3 => Just(None),
        1 => (0..12u64).prop_map(|wait| Some(Cancel::Before(wait))),
        1 => (0..12u64).prop_map(|wait| Some(Cancel::During(wait))),
        1 => (0..6usize).prop_map(|taken| Some(Cancel::Gone(taken))),
    ]
}

fn planned() -> impl Strategy<Value = (Planned, Family)> {
    // Two different tokens, so that many prompts begin alike.
    let prompt = prop::collection::vec((0..2u32).prop_map(TokenId), 1..=MAX_SEQ_LEN);
    let new_tokens = prop_oneof![1 => Just(0), 1 => Just(1), 6 => 2..10usize, 1 => Just(100)];
    let family = prop_oneof![
        3 => Just(Family::Stranger),
        1 => (0..2u64).prop_map(Family::Tenant),
        3 => Just(Family::Sibling),
    ];
    (0..8u64, prompt, new_tokens, cancel(), family).prop_map(|(arrives, mut prompt, max_new_tokens, cancel, family)| {
        if max_new_tokens % 2 == 0 {
            prompt.truncate(5);
        }
        let planned = Planned {
            arrives,
            prompt,
            max_new_tokens,
            cancel,
        };
        (planned, family)
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let poison = prop_oneof![Just(None), Just(Some(f32::NAN)), Just(Some(1e9))];
    let settings = (1..7usize, 0..12usize, 1..6usize, any::<bool>(), 0..12u32, poison);
    (settings, prop::collection::vec(planned(), 1..9)).prop_map(
        |((block_size, more_blocks, max_running, prefix_cache, num_ends, poison), mut plan)| {
            plan.sort_by_key(|(planned, _)| planned.arrives);
            for i in 1..plan.len() {
                if plan[i].1 == Family::Sibling {
                    plan[i].0.prompt = plan[i - 1].0.prompt.clone();
                }
            }
            Case {
                block_size,
                more_blocks,
                max_running,
                prefix_cache,
                num_ends,
                poison,
                plan,
            }
        },
    )
}

/// Plays a case; returns tokens that were hit, tokens taken over from siblings, blocks copied, blocks evicted.
fn play_case(case: &Case) -> [u64; 4] {
    let limits = EngineLimits {
        end_of_text: (3..3 + case.num_ends).map(TokenId).collect(),
        ..limits(MAX_SEQ_LEN, case.max_running)
    };
    let num_blocks = MAX_SEQ_LEN.div_ceil(case.block_size) + case.more_blocks;
    let mut blocks = BlockManager::new(num_blocks, case.block_size, MAX_SEQ_LEN);
    if !case.prefix_cache {
        blocks = blocks.without_prefix_cache();
    }
    let cache = PagedCache::new(&config(MAX_SEQ_LEN), num_blocks, case.block_size);
    let runner = Interrupted::new(Oracle::new(MAX_SEQ_LEN, cache));
    let mut engine = Engine::with(runner, blocks, FirstCome, limits);
    let plan: Vec<Planned> = case.plan.iter().map(|(planned, _)| planned.clone()).collect();
    let mut attach = |_, index: usize| match case.plan[index].1 {
        Family::Stranger => Sharing::default(),
        Family::Tenant(salt) => Sharing {
            salt: Salt(salt),
            ..Sharing::default()
        },
        // Requests are numbered in the order of their arrival, which is that of the plan.
        Family::Sibling => Sharing {
            parent: index.checked_sub(1).map(|parent| SeqId(parent as u64)),
            ..Sharing::default()
        },
    };
    play(&mut engine, &plan, &mut attach, &mut |engine| {
        if let Some(value) = case.poison {
            engine.runner.inner.cache.overwrite_unused(&engine.memory, value);
        }
    });
    let blocks = &engine.memory;
    assert_eq!(blocks.num_held(), 0, "a block is still held");
    assert_eq!(blocks.num_available(), num_blocks, "a block is still reserved");
    let stats = blocks.stats();
    [stats.prefix_hits, stats.forked, stats.copies, stats.evictions]
}

/// A share of the sweep on a thread of its own, with its own seed.
fn sweep(share: u8) -> [u64; 4] {
    let config = Config {
        cases: num_cases(CASES) / 4,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[share; 32]);
    let totals = std::cell::RefCell::new([0; 4]);
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
fn blocks_never_change_a_token_and_nothing_is_held_at_the_end() {
    let totals = in_quarters(sweep);
    // Each feature was used, many times.
    for (name, total) in ["hits", "forks", "copies", "evictions"].iter().zip(totals) {
        assert!(total > 1000, "{name}: {total}");
    }
}
