//! Our numbers against those of an outside reference: `transformers` in f32, with its own cache switched on or off as it likes. The values
//! were made by `shared/fixtures/scripts/goldens.py`, never by our own code. Here every prompt goes through the cache, in one chunk and in
//! chunks of five.

mod common;

use common::{fixture, golden, in_chunks, stories};
use fixtures::{Golden, Rows};
use generation::{Model, State};
use kv_cache::{CacheOrder, cache_for, session};
use layout::pool::Pool;
use std::ops::Range;
use training::TokenId;

fn ids(tokens: &[u32]) -> Vec<TokenId> {
    tokens.iter().copied().map(TokenId).collect()
}

/// Chunks of one length, and the rest.
fn chunks_of(chunk_len: usize, len: usize) -> Vec<Range<usize>> {
    (0..len)
        .step_by(chunk_len)
        .map(|start| start..len.min(start + chunk_len))
        .collect()
}

#[track_caller]
fn check(model: &Model, golden: &Golden) {
    let pool = Pool::new(2);
    assert_eq!(golden.tolerance, 2e-4);
    for case in &golden.cases {
        let tokens = ids(&case.prompt_tokens);
        for order in CacheOrder::ALL {
            for chunk_len in [5, tokens.len()] {
                let chunks = chunks_of(chunk_len, tokens.len());
                let rows = in_chunks(model, &pool, order, &tokens, &chunks);
                let rows = match case.rows {
                    Rows::All => &rows[..],
                    Rows::Last => &rows[rows.len() - 1..],
                };
                assert_eq!(rows.len(), case.logits.len());
                for (row, expected) in rows.iter().zip(&case.logits) {
                    fixtures::assert_close(row, expected, golden.bound());
                }
            }
        }
        let new_tokens = case.greedy_tokens.len();
        let mut cache = cache_for(model, tokens.len(), new_tokens);
        let mut state = State::new(&model.config, 0);
        let answer = session::generate(model, &mut state, &mut cache, &pool, &tokens, new_tokens, &mut |_| {});
        let found = answer.unwrap().generation.tokens;
        assert_eq!(found, ids(&case.greedy_tokens), "{} {}", golden.model, case.name);
    }
}

/// Logits of every fixture folder within 2e-4 of the largest one, greedy tokens equal.
#[test]
fn cached_logits_and_greedy_tokens_of_every_fixture_equal_transformers() {
    for name in fixtures::MODELS {
        check(&fixture(name), &golden(&fixtures::model(name)));
    }
}

/// The same for the model that this repository trained.
#[test]
fn cached_logits_and_greedy_tokens_of_stories_equal_transformers() {
    check(&stories(), &golden(&lab::paths::data_dir().join("stories")));
}

/// A test that stays green with a damaged cache tests nothing: let any one position hold the keys and values of another token, and the
/// logits of the last row leave the bound.
#[test]
fn a_wrong_position_in_the_cache_is_noticed() {
    let (model, pool) = (fixture("some-kv-tied-bf16"), Pool::new(1));
    let golden = golden(&fixtures::model("some-kv-tied-bf16"));
    let case = golden.case("short");
    let tokens = ids(&case.prompt_tokens);
    let whole = 0..tokens.len();
    for position in 0..tokens.len() - 1 {
        let mut damaged = tokens.clone();
        damaged[position] = TokenId((damaged[position].0 + 7) % 320);
        let rows = in_chunks(
            &model,
            &pool,
            CacheOrder::default(),
            &damaged,
            std::slice::from_ref(&whole),
        );
        let (found, expected) = (rows.last().unwrap(), case.logits.last().unwrap());
        assert!(
            fixtures::compare(found, expected, golden.bound()).is_some(),
            "position {position} of {} is wrong and nobody notices",
            tokens.len()
        );
    }
}
