//! Equal to lesson 05, bit for bit: logits and tokens, for every prompt length, every way to cut a text into chunks, both orders in
//! memory and any number of threads.

mod common;

use common::{all_fixtures, chunks, fixture, in_chunks, last_row, lesson05, small, stories, tokens};
use generation::{Model, State};
use kv_cache::concat::{GrowingCache, Growth};
use kv_cache::views::Showing;
use kv_cache::{CacheOrder, ContiguousCache, cache_for, concat, masked, session, views};
use layout::pool::Pool;
use proptest::prelude::*;
use std::sync::LazyLock;
use training::TokenId;

/// Longest prompt of the sweeps.
const LONGEST: usize = 64;

#[track_caller]
fn same(model: &Model, what: &str, found: &[Vec<f32>], expected: &[Vec<f32>]) {
    assert_eq!(found.len(), expected.len(), "{}: {what}", model.name);
    if let Some(row) = (0..found.len()).find(|&row| found[row] != expected[row]) {
        panic!("{}: {what}: the logits of row {row} differ", model.name);
    }
}

/// A prompt of each length in one chunk, in both orders, on every fixture: the last row's logits are those of lesson 05.
#[test]
fn a_prompt_of_every_length_gives_the_logits_of_lesson_05() {
    let pool = Pool::new(2);
    for model in all_fixtures() {
        let text = tokens(&model, LONGEST);
        let expected = lesson05(&model, &pool, &text);
        for order in CacheOrder::ALL {
            let mut cache = ContiguousCache::with_order(&model.config.llama, LONGEST, order);
            for len in 1..=LONGEST {
                cache.clear();
                let last = last_row(&model, &pool, &mut cache, &[&text[..len]]);
                assert!(last == expected[len - 1], "{}: {len} tokens, {order:?}", model.name);
            }
        }
    }
}

/// Token by token, the other end of all splits, and every split into two: each row of both chunks.
#[test]
fn every_split_into_two_and_token_by_token_give_the_logits_of_one_pass() {
    let (model, pool) = (small(), Pool::new(1));
    let text = tokens(&model, LONGEST);
    let expected = lesson05(&model, &pool, &text);
    for order in CacheOrder::ALL {
        let single = in_chunks(&model, &pool, order, &text, &chunks(&[1; LONGEST]));
        same(&model, "token by token", &single, &expected);
        for first in 1..LONGEST {
            let lengths = [first, LONGEST - first];
            let split = in_chunks(&model, &pool, order, &text, &chunks(&lengths));
            same(&model, &format!("chunks of {lengths:?}"), &split, &expected);
        }
    }
}

/// All 2^9 ways to cut ten tokens.
#[test]
fn every_way_to_cut_a_short_text_gives_the_logits_of_one_pass() {
    const LEN: usize = 10;
    let (model, pool) = (fixture("one-kv-untied-f16"), Pool::new(1));
    let text = tokens(&model, LEN);
    let expected = lesson05(&model, &pool, &text);
    for cuts in 0..1usize << (LEN - 1) {
        let mut lengths = vec![1];
        for place in 0..LEN - 1 {
            match cuts >> place & 1 {
                1 => lengths.push(1),
                _ => *lengths.last_mut().unwrap() += 1,
            }
        }
        let order = CacheOrder::ALL[cuts % 2];
        let split = in_chunks(&model, &pool, order, &text, &chunks(&lengths));
        same(&model, &format!("chunks of {lengths:?}"), &split, &expected);
    }
}

/// The fault of candle#3743: a prompt in one chunk is right, token by token is right, and only a second chunk of several rows is wrong,
/// because the causal mask forgets what is cached. Key `j` is visible iff `j <= offset + i`.
#[test]
fn a_second_chunk_attends_to_the_cached_prefix() {
    let (model, pool) = (small(), Pool::new(2));
    let text = tokens(&model, 7);
    let expected = lesson05(&model, &pool, &text);
    for lengths in [[7, 0], [3, 4], [4, 3], [6, 1]] {
        let lengths: Vec<usize> = lengths.into_iter().filter(|len| *len > 0).collect();
        let found = in_chunks(&model, &pool, CacheOrder::default(), &text, &chunks(&lengths));
        same(&model, &format!("chunks of {lengths:?}"), &found, &expected);
    }
    // The row does see the prefix: with another first token its logits are others.
    let mut other = text.clone();
    other[0] = TokenId(other[0].0 + 1);
    let found = in_chunks(&model, &pool, CacheOrder::default(), &other, &chunks(&[3, 4]));
    assert_ne!(found[6], expected[6], "the second chunk ignores the first");
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for model in [small(), fixture("rope-parameters-bf16"), stories()] {
        let text = tokens(&model, 40);
        let expected = lesson05(&model, &Pool::new(1), &text);
        for threads in 1..=4 {
            let pool = Pool::new(threads);
            for order in CacheOrder::ALL {
                let found = in_chunks(&model, &pool, order, &text, &chunks(&[17, 1, 1, 9, 12]));
                same(&model, &format!("{threads} threads, {order:?}"), &found, &expected);
            }
        }
    }
}

/// A model, a text, and lesson 05's logits of each of its rows.
type Case = (Model, Vec<TokenId>, Vec<Vec<f32>>);

/// Made once for all cases.
static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let prepared = |model: Model| {
        let text = tokens(&model, LONGEST);
        let expected = lesson05(&model, &Pool::new(1), &text);
        (model, text, expected)
    };
    all_fixtures().into_iter().map(prepared).collect()
});

static POOLS: LazyLock<Vec<Pool>> = LazyLock::new(|| (1..=4).map(Pool::new).collect());

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any fixture, any text of 1 to 64 tokens, any way to cut it, any order, 1 to 4 threads: every row has the bits of lesson 05.
    #[test]
    fn any_split_gives_the_logits_of_lesson_05(
        case in 0..fixtures::MODELS.len(),
        lengths in prop::collection::vec(prop_oneof![3 => 1usize..4, 1 => 1usize..40], 1..24),
        threads in 0usize..4,
        order in prop::sample::select(CacheOrder::ALL.to_vec()),
    ) {
        let (model, text, expected) = &CASES[case];
        let mut left = LONGEST;
        let lengths: Vec<usize> = lengths
            .into_iter()
            .map(|len| {
                let taken = len.min(left);
                left -= taken;
                taken
            })
            .filter(|len| *len > 0)
            .collect();
        let len = LONGEST - left;
        let found = in_chunks(model, &POOLS[threads], order, &text[..len], &chunks(&lengths));
        prop_assert!(found == expected[..len], "{}: chunks of {lengths:?}, {order:?}", model.name);
    }

    /// Cut back to any length and gone on with the same tokens or others: as if the forgotten ones had never been.
    #[test]
    fn a_truncated_cache_goes_on_as_a_fresh_one(
        case in 0..fixtures::MODELS.len(),
        held in 1usize..40,
        keep in 0usize..40,
        new in 1usize..20,
        order in prop::sample::select(CacheOrder::ALL.to_vec()),
    ) {
        let (model, text, _) = &CASES[case];
        let (pool, keep) = (&POOLS[1], keep.min(held));
        let other: Vec<TokenId> = text.iter().rev().copied().take(new).collect();
        let mut cache = ContiguousCache::with_order(&model.config.llama, LONGEST, order);
        last_row(model, pool, &mut cache, &[&text[..held]]);
        cache.truncate(keep).unwrap();
        let found = last_row(model, pool, &mut cache, &[&other]);
        let whole = [&text[..keep], &other].concat();
        let expected = lesson05(model, pool, &whole);
        prop_assert!(Some(&found) == expected.last());
    }
}

/// Tokens and reason to end, through both loops.
#[track_caller]
fn same_answer(model: &Model, pool: &Pool, prompt: &[TokenId], max_new_tokens: usize) {
    let mut state = State::new(&model.config, 0);
    let mut streamed = Vec::new();
    let expected = model
        .generate(&mut state, pool, prompt, max_new_tokens, &mut |_| {})
        .unwrap();
    let mut cache = cache_for(model, prompt.len(), max_new_tokens);
    let mut state = State::new(&model.config, 0);
    let timed = session::generate(
        model,
        &mut state,
        &mut cache,
        pool,
        prompt,
        max_new_tokens,
        &mut |token| streamed.push(token),
    )
    .unwrap();
    let name = &model.name;
    assert_eq!(timed.generation, expected, "{name}: prompt of {}", prompt.len());
    assert_eq!(streamed, expected.tokens, "{name}: what was streamed");
    assert_eq!(timed.timings.new_tokens, expected.tokens.len(), "{name}");
}

#[test]
fn the_answer_to_a_prompt_of_every_length_is_that_of_lesson_05() {
    let (model, pool) = (small(), Pool::new(1));
    let text = tokens(&model, LONGEST);
    for len in 1..=LONGEST {
        same_answer(&model, &pool, &text[..len], 6);
    }
}

#[test]
fn every_model_answers_as_in_lesson_05() {
    let pool = Pool::new(2);
    for model in all_fixtures() {
        let text = tokens(&model, 33);
        for len in [1, 2, 16, 33] {
            same_answer(&model, &pool, &text[..len], 20);
        }
    }
}

/// The trained model, which also ends its texts by itself.
#[test]
fn stories_are_told_as_in_lesson_05() {
    let pool = Pool::new(2);
    let mut model = Model::open("stories").unwrap_or_else(|error| panic!("{error}"));
    for prompt in ["Once upon a time", "Tom", "The fox was hungry and"] {
        let prompt = model.encode_prompt(prompt).unwrap();
        same_answer(&model, &pool, &prompt, 40);
    }
    // What this model would say first, made the end of its text: both loops stop without a token.
    let prompt = model.encode_prompt("Once upon a time").unwrap();
    let mut state = State::new(&model.config, 0);
    let answer = model.generate(&mut state, &pool, &prompt, 3, &mut |_| {}).unwrap();
    for ends_at in 0..3 {
        model.config.eos_token_ids = vec![answer.tokens[ends_at]];
        same_answer(&model, &pool, &prompt, 10);
    }
}

/// Zero tokens, one token, a prompt that fills the context, an answer that fills it.
#[test]
fn the_edges_of_the_context_are_those_of_lesson_05() {
    let (mut model, pool) = (small(), Pool::new(1));
    model.config.llama.max_seq_len = 12;
    let text = tokens(&model, 12);
    for (prompt, new) in [
        (3, 0),
        (3, 1),
        (12, 5),
        (12, 0),
        (11, 1),
        (11, 2),
        (4, 8),
        (4, 9),
        (1, 40),
    ] {
        same_answer(&model, &pool, &text[..prompt], new);
    }
}

/// The worse ways of this lesson are slower, not wrong: each of them gives the same bits, chunk by chunk.
#[test]
fn the_experiments_give_the_bits_of_the_cache() {
    let pool = Pool::new(2);
    for model in [small(), fixture("all-kv-untied-f32"), fixture("linear-rope-tied-f32")] {
        let text = tokens(&model, 21);
        let expected = lesson05(&model, &pool, &text);
        let (config, weights) = (&model.config, &model.weights);
        let mut state = State::new(config, 0);
        let pieces = chunks(&[9, 1, 1, 7, 3]);
        for growth in [Growth::Exact, Growth::Doubling] {
            let mut cache = GrowingCache::new(&config.llama, growth);
            for piece in &pieces {
                let new = &text[piece.clone()];
                let last = concat::forward(config, weights, &mut state, &mut cache, &pool, new);
                assert!(last.unwrap() == expected[piece.end - 1], "{growth:?}: {piece:?}");
            }
        }
        for order in CacheOrder::ALL {
            for showing in [Showing::Index, Showing::Objects, Showing::Copies] {
                let mut cache = ContiguousCache::with_order(&config.llama, 30, order);
                for piece in &pieces {
                    let new = &text[piece.clone()];
                    let (state, cache) = (&mut state, &mut cache);
                    let last = views::forward(config, weights, state, cache, &pool, new, showing);
                    assert!(
                        last.unwrap() == expected[piece.end - 1],
                        "{showing:?}, {order:?}: {piece:?}"
                    );
                }
            }
            let mut cache = ContiguousCache::with_order(&config.llama, 30, order);
            for piece in &pieces {
                let new = &text[piece.clone()];
                let last = masked::forward(config, weights, &mut state, &mut cache, &pool, new);
                assert!(last.unwrap() == expected[piece.end - 1], "masked, {order:?}: {piece:?}");
            }
        }
    }
}
