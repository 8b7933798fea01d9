//! Comparison with `transformers` in f32. `shared/fixtures/scripts/goldens.py` made the values. Every prompt goes
//! through the cache, in one chunk and in chunks of five.

use crate::common::{answer, fixture, in_chunks, stories};
use fixtures::{Golden, Rows};
use generation::Model;
use kv_cache::{CacheOrder, cache_for};
use layout::pool::Pool;
use training::TokenId;

fn ids(tokens: &[u32]) -> Vec<TokenId> {
    tokens.iter().copied().map(TokenId).collect()
}

#[track_caller]
fn check(model: &Model, golden: &Golden) {
    let pool = Pool::new(2);
    assert_eq!(golden.tolerance, 2e-4);
    for case in &golden.cases {
        let tokens = ids(&case.prompt_tokens);
        for order in CacheOrder::ALL {
            for chunk_len in [5, tokens.len()] {
                let lengths: Vec<usize> = tokens.chunks(chunk_len).map(<[_]>::len).collect();
                let rows = in_chunks(model, &pool, order, &tokens, &lengths);
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
        let timed = answer(model, &mut cache, &tokens, new_tokens, &mut |_| {}).unwrap();
        let found = timed.generation.tokens;
        assert_eq!(found, ids(&case.greedy_tokens), "{} {}", golden.model, case.name);
    }
}

/// Logits of every fixture folder within 2e-4 of the largest one, greedy tokens equal.
#[test]
fn cached_logits_and_greedy_tokens_of_every_fixture_equal_transformers() {
    for name in fixtures::MODELS {
        check(&fixture(name), &fixtures::golden(name));
    }
}

/// The same for the model that this repository trained.
#[test]
fn cached_logits_and_greedy_tokens_of_stories_equal_transformers() {
    let golden = fixtures::golden_for(&lab::paths::data_dir().join("stories"));
    check(&stories(), &golden.unwrap_or_else(|error| panic!("{error}")));
}

/// The comparison itself is sensitive: with the keys and values of another token at any one position, the logits of the
/// last row leave the bound.
#[test]
fn a_wrong_position_in_the_cache_is_noticed() {
    let (model, pool) = (fixture("some-kv-tied-bf16"), Pool::new(1));
    let golden = fixtures::golden("some-kv-tied-bf16");
    let case = golden.case("short");
    let tokens = ids(&case.prompt_tokens);
    for position in 0..tokens.len() - 1 {
        let mut damaged = tokens.clone();
        damaged[position] = TokenId((damaged[position].0 + 7) % 320);
        let rows = in_chunks(&model, &pool, CacheOrder::default(), &damaged, &[tokens.len()]);
        let (found, expected) = (rows.last().unwrap(), case.logits.last().unwrap());
        assert!(
            fixtures::compare(found, expected, golden.bound()).is_some(),
            "position {position} of {} is wrong and the logits stay within the bound",
            tokens.len()
        );
    }
}
