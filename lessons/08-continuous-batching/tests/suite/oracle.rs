//! The KV oracle over slots: whatever arrives when, with any number of slots and a cancel in any state, each request
//! gets the tokens that it gets alone, and at the end no slot is held.
//!
//! 24 000 generated cases run each time, on four threads;
//! `ORACLE_CASES=2000000 cargo test -p lesson08 --test suite oracle` runs more.

use continuous_batching::exercises::ragged::build_batch;
use continuous_batching::oracle::expected::answer;
use continuous_batching::oracle::play::{Cancel, Interrupted, Planned, play};
use continuous_batching::oracle::sweep::{caught, in_quarters, num_cases};
use continuous_batching::oracle::{Oracle, VOCAB_SIZE, config, limits};
use continuous_batching::{Batch, Engine, EngineLimits, Request, Runner, SeqId, SlotCache, Slots, Status};
use kv_cache::cache::ContiguousCache;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::collections::BTreeMap;
use training::TokenId;

/// Largest number of tokens of one request.
const MAX_SEQ_LEN: usize = 16;
/// Generated cases of the whole sweep.
const CASES: u32 = 24_000;

/// A setting and a plan.
#[derive(Clone, Debug)]
struct Case {
    num_slots: usize,
    max_running: usize,
    /// The engine's cap on answers.
    max_new_tokens: usize,
    /// Number of tokens, of the 97, that end a text, so that some answers end early.
    num_ends: u32,
    /// Value that overwrites unused memory after each step, if any does.
    poison: Option<f32>,
    plan: Vec<Planned>,
}

fn cancel() -> impl Strategy<Value = Option<Cancel>> {
    prop_oneof![
        3 => Just(None),
        1 => (0..12u64).prop_map(|wait| Some(Cancel::Before(wait))),
        1 => (0..12u64).prop_map(|wait| Some(Cancel::During(wait))),
        1 => (0..6usize).prop_map(|taken| Some(Cancel::Gone(taken))),
    ]
}

fn planned() -> impl Strategy<Value = Planned> {
    // Few different tokens, so that prompts share beginnings.
    let prompt = prop::collection::vec((0..3u32).prop_map(TokenId), 1..=MAX_SEQ_LEN);
    let new_tokens = prop_oneof![1 => Just(0), 1 => Just(1), 6 => 2..10usize, 1 => Just(100)];
    (0..8u64, prompt, new_tokens, cancel()).prop_map(|(arrives, mut prompt, max_new_tokens, cancel)| {
        // Short prompts are the ones that leave room for an answer.
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
    let settings = (
        1..5usize,
        1..6usize,
        prop_oneof![Just(usize::MAX), 1..8usize],
        0..12u32,
        poison,
    );
    (settings, prop::collection::vec(planned(), 1..9)).prop_map(
        |((num_slots, max_running, max_new_tokens, num_ends, poison), plan)| Case {
            num_slots,
            max_running,
            max_new_tokens,
            num_ends,
            poison,
            plan,
        },
    )
}

type OracleEngine = Engine<Interrupted<Oracle<SlotCache>>, Slots>;

fn oracle_engine(num_slots: usize, limits: EngineLimits) -> OracleEngine {
    let cache = SlotCache::new(&config(MAX_SEQ_LEN), num_slots, MAX_SEQ_LEN);
    let runner = Interrupted::new(Oracle::new(MAX_SEQ_LEN, cache));
    Engine::new(runner, Slots::new(num_slots, MAX_SEQ_LEN), limits)
}

fn engine_of(case: &Case) -> OracleEngine {
    let limits = EngineLimits {
        max_new_tokens: case.max_new_tokens,
        // Prompts hold none of them: allowed, but such a prompt tests less.
        end_of_text: (3..3 + case.num_ends).map(TokenId).collect(),
        ..limits(MAX_SEQ_LEN, case.max_running)
    };
    oracle_engine(case.num_slots, limits)
}

fn play_case(case: &Case, after_step: &mut dyn FnMut(&OracleEngine)) {
    let mut engine = engine_of(case);
    play(&mut engine, &case.plan, &mut |_, _| (), &mut |engine| {
        if let Some(value) = case.poison {
            engine.runner.inner.cache.overwrite_unused(&engine.memory, value);
        }
        after_step(engine);
    });
    assert_eq!(engine.memory.num_free(), case.num_slots);
}

/// Each quarter of the sweep has its own seed.
#[test]
fn concurrent_requests_get_the_tokens_that_they_get_alone() {
    in_quarters(|quarter| {
        let config = Config {
            cases: num_cases(CASES) / 4,
            failure_persistence: None,
            ..Config::default()
        };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[quarter; 32]);
        let played = TestRunner::new_with_rng(config, rng).run(&cases(), |case| {
            caught(|| play_case(&case, &mut |_| {})).map_err(TestCaseError::fail)
        });
        played.unwrap_or_else(|error| panic!("{error}"));
        []
    });
}

/// A step of a case: the requests that wait after it, and the computed ones with the position of their first row.
type Seen = (Vec<SeqId>, Vec<(SeqId, usize)>);

/// Where the cancels of a case find their requests.
fn count_states(case: &Case, steps: &[Seen], counts: &mut BTreeMap<&'static str, usize>) {
    // Numbers are given in the order of submission.
    let mut order: Vec<&Planned> = case.plan.iter().collect();
    order.sort_by_key(|planned| planned.arrives);
    for (id, planned) in order.into_iter().enumerate() {
        let id = SeqId(id as u64);
        let waits_after = |step: u64| {
            steps
                .get(step as usize)
                .is_some_and(|(waiting, _)| waiting.contains(&id))
        };
        let first_position = |step: u64| {
            let (_, computed) = steps.get(step as usize)?;
            computed.iter().find(|seen| seen.0 == id).map(|seen| seen.1)
        };
        let found = match planned.cancel {
            Some(Cancel::Before(0)) => "waiting, before",
            Some(Cancel::Before(wait)) => match planned.arrives + wait - 1 {
                before if waits_after(before) => "waiting, before",
                before if first_position(before).is_some() => "decoding, before",
                _ => "over",
            },
            Some(Cancel::During(wait)) => match first_position(planned.arrives + wait) {
                Some(0) => "prefilling, during",
                Some(_) => "decoding, during",
                None if wait > 0 && waits_after(planned.arrives + wait - 1) => "waiting, during",
                None => "over",
            },
            Some(Cancel::Gone(_)) => "gone",
            None => "none",
        };
        *counts.entry(found).or_default() += 1;
    }
}

/// The sweep is worth what it meets: its cancels find requests in every state.
#[test]
fn the_sweep_cancels_in_every_state() {
    let mut runner = TestRunner::deterministic();
    let mut counts = BTreeMap::new();
    for _ in 0..400 {
        let case = cases().new_tree(&mut runner).unwrap().current();
        let mut steps: Vec<Seen> = Vec::new();
        play_case(&case, &mut |engine| {
            let waiting = engine.queues.waiting.iter().map(|request| request.id);
            let batch = &engine.batch;
            let computed = batch.sequences.iter().map(|s| (s.id, batch.positions[s.first_row]));
            steps.push((waiting.collect(), computed.collect()));
        });
        count_states(&case, &steps, &mut counts);
    }
    for state in [
        "waiting, before",
        "decoding, before",
        "waiting, during",
        "prefilling, during",
        "decoding, during",
        "gone",
        "none",
    ] {
        let count = counts.get(state).copied().unwrap_or_default();
        assert!(count >= 20, "{state}: {count} of {counts:?}");
    }
}

/// A few prompts of all lengths.
fn prompts() -> impl Iterator<Item = Vec<TokenId>> {
    (1..=MAX_SEQ_LEN as u32).flat_map(|len| {
        (0..8).map(move |i| {
            (0..len)
                .map(|j| TokenId((i * 31 + j * j) % VOCAB_SIZE as u32))
                .collect()
        })
    })
}

/// What the sweep compares with is computed without a cache. Here it is compared with single runs: one slot, and lesson
/// 06's cache, which knows nothing of slots.
#[test]
fn what_is_expected_is_what_a_single_run_gives() {
    let limits = limits(MAX_SEQ_LEN, 1);
    for prompt in prompts() {
        let (expected, reason) = answer(&prompt, 9, &limits);
        let plan = [Planned {
            arrives: 0,
            prompt: prompt.clone(),
            max_new_tokens: 9,
            cancel: None,
        }];
        let mut engine = oracle_engine(1, limits.clone());
        play(&mut engine, &plan, &mut |_, _| (), &mut |_| {});

        if prompt.len() == MAX_SEQ_LEN {
            continue; // no room for an answer
        }
        let mut oracle = Oracle::new(MAX_SEQ_LEN, ContiguousCache::new(&config(MAX_SEQ_LEN), MAX_SEQ_LEN));
        let mut request = Request::new(SeqId(7), &prompt, 9, MAX_SEQ_LEN);
        let mut batch = Batch::default();
        while !request.is_finished() {
            build_batch(std::slice::from_ref(&request), &mut batch);
            batch.add_table(|table| table.push(0));
            let logits = oracle.forward(&batch).unwrap();
            let token = generation::generate::greedy(logits).unwrap();
            request.advance(batch.num_rows());
            request.accept(token, &limits);
        }
        assert_eq!((request.output, request.status), (expected, Status::Finished(reason)));
    }
}

/// The oracle has a use only if a slip changes its answer. Any other token at any place of the text does.
#[test]
fn every_token_of_the_context_counts() {
    let limits = limits(MAX_SEQ_LEN, 1);
    let prompt: Vec<TokenId> = (10..20).map(TokenId).collect();
    let (right, _) = answer(&prompt, 6, &limits);
    for place in 0..prompt.len() {
        let mut other = prompt.clone();
        other[place] = TokenId(60);
        assert_ne!(answer(&other, 6, &limits).0, right, "position {place} is not read");
    }
    let mut swapped = prompt.clone();
    swapped.swap(2, 7);
    assert_ne!(answer(&swapped, 6, &limits).0, right, "the order is not read");
}

/// Equal tokens hide slips; there are few of them.
#[test]
fn answers_are_spread_over_the_vocabulary() {
    let limits = limits(MAX_SEQ_LEN, 1);
    let mut found: Vec<TokenId> = prompts().flat_map(|prompt| answer(&prompt, 9, &limits).0).collect();
    found.sort_unstable();
    found.dedup();
    assert!(found.len() > VOCAB_SIZE / 2, "only {} different tokens", found.len());
}
