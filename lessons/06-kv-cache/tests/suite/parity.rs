//! Equal to lesson 05, bit for bit: logits and tokens, for every prompt length, every way to cut a text into chunks,
//! both orders in memory and any number of threads.

use crate::common::{all_fixtures, answer, fixture, in_chunks, lesson05, pass, small, state, stories, tokens};
use generation::Model;
use kv_cache::experiments::concat::{self, GrowingCache, Growth};
use kv_cache::experiments::masked;
use kv_cache::experiments::views::{self, Showing};
use kv_cache::{CacheOrder, ContiguousCache, cache_for};
use layout::pool::Pool;
use proptest::prelude::*;
use std::sync::LazyLock;
use training::TokenId;

/// Longest prompt of the sweeps.
const LONGEST: usize = 64;

/// Compares all rows of a text in chunks of these lengths with the rows of lesson 05.
#[track_caller]
fn same(model: &Model, pool: &Pool, order: CacheOrder, text: &[TokenId], lengths: &[usize], expected: &[Vec<f32>]) {
    let found = in_chunks(model, pool, order, text, lengths);
    assert_eq!(found.len(), expected.len());
    if let Some(row) = (0..found.len()).find(|&row| found[row] != expected[row]) {
        panic!(
            "{}: chunks of {lengths:?}, {order:?}: the logits of row {row} differ",
            model.name
        );
    }
}

/// A prompt of each length in one chunk, in both orders, on every fixture: the last row's logits are those of lesson
/// 05.
#[test]
fn a_prompt_of_every_length_gives_the_logits_of_lesson_05() {
    let pool = Pool::new(2);
    for (model, text, expected) in CASES.iter() {
        for order in CacheOrder::ALL {
            let mut cache = ContiguousCache::with_order(&model.config.llama, LONGEST, order);
            for len in 1..=LONGEST {
                cache.clear();
                let last = pass(model, &pool, &mut cache, &text[..len]).unwrap();
                assert!(last == expected[len - 1], "{}: {len} tokens, {order:?}", model.name);
            }
        }
    }
}

/// Token by token, and every split into two: each row of all chunks.
#[test]
fn every_split_into_two_and_token_by_token_give_the_logits_of_one_pass() {
    let (model, pool) = (small(), Pool::new(1));
    let text = tokens(&model, LONGEST);
    let expected = lesson05(&model, &text);
    for order in CacheOrder::ALL {
        same(&model, &pool, order, &text, &[1; LONGEST], &expected);
        for first in 1..LONGEST {
            same(&model, &pool, order, &text, &[first, LONGEST - first], &expected);
        }
    }
}

/// All 2^9 ways to cut ten tokens.
#[test]
fn every_way_to_cut_a_short_text_gives_the_logits_of_one_pass() {
    const LEN: usize = 10;
    let (model, pool) = (fixture("one-kv-untied-f16"), Pool::new(1));
    let text = tokens(&model, LEN);
    let expected = lesson05(&model, &text);
    for cuts in 0..1usize << (LEN - 1) {
        let mut lengths = vec![1];
        for place in 0..LEN - 1 {
            match cuts >> place & 1 {
                1 => lengths.push(1),
                _ => *lengths.last_mut().unwrap() += 1,
            }
        }
        same(&model, &pool, CacheOrder::ALL[cuts % 2], &text, &lengths, &expected);
    }
}

/// The fault of candle#3743: a prompt in one chunk is right, token by token is right, and only a second chunk of
/// several rows is wrong, because the causal mask forgets the cached positions. Key `j` is visible iff
/// `j <= offset + i`.
#[test]
fn a_second_chunk_attends_to_the_cached_prefix() {
    let (model, pool) = (small(), Pool::new(2));
    let text = tokens(&model, 7);
    let expected = lesson05(&model, &text);
    for lengths in [&[7][..], &[3, 4], &[4, 3], &[6, 1]] {
        same(&model, &pool, CacheOrder::default(), &text, lengths, &expected);
    }
    // The row does see the prefix: another first token changes its logits.
    let mut other = text.clone();
    other[0] = TokenId(other[0].0 + 1);
    let found = in_chunks(&model, &pool, CacheOrder::default(), &other, &[3, 4]);
    assert!(found[6] != expected[6], "the second chunk ignores the first");
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for model in [small(), fixture("rope-parameters-bf16"), stories()] {
        let text = tokens(&model, 40);
        let expected = lesson05(&model, &text);
        for threads in 1..=4 {
            for order in CacheOrder::ALL {
                same(&model, &Pool::new(threads), order, &text, &[17, 1, 1, 9, 12], &expected);
            }
        }
    }
}

/// A model, a text, and lesson 05's logits of each of its rows.
type Case = (Model, Vec<TokenId>, Vec<Vec<f32>>);

/// Made once for all tests.
static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let prepared = |model: Model| {
        let text = tokens(&model, LONGEST);
        let expected = lesson05(&model, &text);
        (model, text, expected)
    };
    all_fixtures().into_iter().map(prepared).collect()
});

static POOLS: LazyLock<Vec<Pool>> = LazyLock::new(|| (1..=4).map(Pool::new).collect());

fn any_order() -> impl Strategy<Value = CacheOrder> {
    prop::sample::select(CacheOrder::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any fixture, any text of 1 to 64 tokens, any way to cut it, any order, 1 to 4 threads: every row has the bits of
    /// lesson 05.
    #[test]
    fn any_split_gives_the_logits_of_lesson_05(
        case in 0..fixtures::MODELS.len(),
        lengths in prop::collection::vec(prop_oneof![3 => 1usize..4, 1 => 1usize..40], 1..24),
        threads in 0usize..4,
        order in any_order(),
    ) {
        let (model, text, expected) = &CASES[case];
        let mut len = 0;
        let fits = lengths.into_iter().take_while(|chunk| {
            len += chunk;
            len <= LONGEST
        });
        let lengths: Vec<usize> = fits.collect();
        let len = lengths.iter().sum();
        same(model, &POOLS[threads], order, &text[..len], &lengths, &expected[..len]);
    }

    /// A truncated cache goes on, with the same tokens or others, as if the forgotten ones had never been there.
    #[test]
    fn a_truncated_cache_goes_on_as_a_fresh_one(
        case in 0..fixtures::MODELS.len(),
        held in 1usize..40,
        keep in 0usize..40,
        new in 1usize..20,
        order in any_order(),
    ) {
        let (model, text, _) = &CASES[case];
        let (pool, keep) = (&POOLS[1], keep.min(held));
        let other: Vec<TokenId> = text.iter().rev().copied().take(new).collect();
        let mut cache = ContiguousCache::with_order(&model.config.llama, LONGEST, order);
        pass(model, pool, &mut cache, &text[..held]).unwrap();
        cache.truncate(keep).unwrap();
        let found = pass(model, pool, &mut cache, &other).unwrap();
        let expected = lesson05(model, &[&text[..keep], &other].concat());
        prop_assert!(Some(&found) == expected.last());
    }
}

/// Tokens and reason to end, through both loops.
#[track_caller]
fn same_answer(model: &Model, prompt: &[TokenId], max_new_tokens: usize) {
    let pool = Pool::new(2);
    let expected = model.generate(&mut state(model), &pool, prompt, max_new_tokens, &mut |_| {});
    let expected = expected.unwrap();
    let mut cache = cache_for(model, prompt.len(), max_new_tokens);
    let mut streamed = Vec::new();
    let timed = answer(model, &mut cache, prompt, max_new_tokens, &mut |token| {
        streamed.push(token)
    })
    .unwrap();
    let name = &model.name;
    assert_eq!(timed.generation, expected, "{name}: prompt of {}", prompt.len());
    assert_eq!(streamed, expected.tokens, "{name}: the streamed tokens");
    assert_eq!(timed.timings.new_tokens, expected.tokens.len(), "{name}");
}

#[test]
fn answers_are_those_of_lesson_05_for_prompts_of_every_length_and_every_model() {
    let model = small();
    let text = tokens(&model, LONGEST);
    for len in 1..=LONGEST {
        same_answer(&model, &text[..len], 6);
    }
    for (model, text, _) in CASES.iter() {
        for len in [1, 2, 16, 33] {
            same_answer(model, &text[..len], 20);
        }
    }
}

/// The trained model, which also ends its texts by itself.
#[test]
fn stories_are_told_as_in_lesson_05() {
    let mut model = Model::open("stories").unwrap_or_else(|error| panic!("{error}"));
    for prompt in ["Once upon a time", "Tom", "The fox was hungry and"] {
        same_answer(&model, &model.encode_prompt(prompt).unwrap(), 40);
    }
    // One of the model's first tokens becomes its end of text: both loops stop at it.
    let prompt = model.encode_prompt("Once upon a time").unwrap();
    let first = model.generate(&mut state(&model), &Pool::new(2), &prompt, 3, &mut |_| {});
    for ends_with in first.unwrap().tokens {
        model.config.eos_token_ids = vec![ends_with];
        same_answer(&model, &prompt, 10);
    }
}

/// Zero tokens, one token, a prompt that fills the context, an answer that fills it.
#[test]
fn the_edges_of_the_context_are_those_of_lesson_05() {
    let mut model = small();
    model.config.llama.max_seq_len = 12;
    let text = tokens(&model, 12);
    let edges = [
        (3, 0),
        (3, 1),
        (12, 5),
        (12, 0),
        (11, 1),
        (11, 2),
        (4, 8),
        (4, 9),
        (1, 40),
    ];
    for (prompt, new) in edges {
        same_answer(&model, &text[..prompt], new);
    }
}

/// The slower ways give the same bits, chunk by chunk.
#[test]
fn the_experiments_give_the_bits_of_the_cache() {
    let pool = Pool::new(2);
    for model in [small(), fixture("all-kv-untied-f32"), fixture("linear-rope-tied-f32")] {
        let text = tokens(&model, 21);
        let expected = lesson05(&model, &text);
        let mut state = state(&model);
        let check = |name: &str, forward: &mut dyn FnMut(&[TokenId]) -> Vec<f32>| {
            for chunk in [0..9, 9..10, 10..11, 11..18, 18..21] {
                let last = forward(&text[chunk.clone()]);
                assert!(last == expected[chunk.end - 1], "{name}: {chunk:?}");
            }
        };
        for growth in [Growth::Exact, Growth::Doubling] {
            let mut cache = GrowingCache::new(&model.config.llama, growth);
            check(&format!("{growth:?}"), &mut |new| {
                concat::forward(&model, &mut state, &mut cache, &pool, new)
                    .unwrap()
                    .to_vec()
            });
        }
        for order in CacheOrder::ALL {
            let empty = || ContiguousCache::with_order(&model.config.llama, 30, order);
            for showing in [Showing::Index, Showing::Objects, Showing::Copies] {
                let mut cache = empty();
                check(&format!("{showing:?}, {order:?}"), &mut |new| {
                    let last = views::forward(&model, &mut state, &mut cache, &pool, new, showing);
                    last.unwrap().to_vec()
                });
            }
            let mut cache = empty();
            check(&format!("masked, {order:?}"), &mut |new| {
                masked::forward(&model, &mut state, &mut cache, &pool, new)
                    .unwrap()
                    .to_vec()
            });
        }
    }
}
