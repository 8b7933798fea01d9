//! Properties that hold for every input.

use crate::common::{answer, lesson05, pass, small, tokens};
use generation::{FinishReason, Limits};
use kv_cache::generate::generate;
use kv_cache::work::rows_of_cached_loop;
use kv_cache::{CacheError, CacheOrder, ContiguousCache, Timings};
use layout::pool::Pool;
use proptest::prelude::*;
use std::time::Duration;
use training::{LlamaConfig, TokenId};

/// Three layers, four query heads on two key heads of three numbers.
fn shape() -> LlamaConfig {
    LlamaConfig {
        num_layers: 3,
        num_heads: 4,
        num_kv_heads: 2,
        head_dim: 3,
        ..LlamaConfig::miniature()
    }
}

/// One change of a cache.
#[derive(Clone, Debug)]
enum Step {
    /// A pass over this number of rows.
    Append(usize),
    /// A pass that stops after two layers and never advances.
    Abandon(usize),
    Truncate(usize),
    Clear,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1usize..6).prop_map(Step::Append),
        1 => (1usize..6).prop_map(Step::Abandon),
        2 => (0usize..14).prop_map(Step::Truncate),
        1 => Just(Step::Clear),
    ]
}

/// A row whose numbers are different from those of every other layer, position and version.
fn row(config: &LlamaConfig, layer: usize, position: usize, version: usize) -> Vec<f32> {
    let width = config.q_size() + 2 * config.kv_size();
    let first = ((version * 20 + position) * config.num_layers + layer) * width;
    (first..first + width).map(|i| i as f32).collect()
}

/// Reads all positions back through views and compares them with what was written.
fn check_content(config: &LlamaConfig, cache: &ContiguousCache, versions: &[usize]) -> Result<(), TestCaseError> {
    prop_assert_eq!(cache.len(), versions.len());
    for layer in 0..config.num_layers {
        for kv_head in 0..config.num_kv_heads {
            let seen = cache.view(layer, kv_head, cache.len());
            for (position, version) in versions.iter().enumerate() {
                let row = row(config, layer, position, *version);
                let key = config.q_size() + kv_head * config.head_dim;
                let value = key + config.kv_size();
                let place = position * seen.kv_stride;
                prop_assert_eq!(&seen.k[place..][..config.head_dim], &row[key..][..config.head_dim]);
                prop_assert_eq!(&seen.v[place..][..config.head_dim], &row[value..][..config.head_dim]);
            }
        }
    }
    Ok(())
}

proptest! {
    /// After any changes in any order, a view shows what was written last at each position, and nothing that was given
    /// up.
    #[test]
    fn a_view_shows_what_was_kept(
        steps in prop::collection::vec(any_step(), 1..30),
        capacity in 1usize..14,
        order in prop::sample::select(CacheOrder::ALL.to_vec()),
    ) {
        let config = shape();
        let mut cache = ContiguousCache::with_order(&config, capacity, order);
        // For each position that is held, the step that wrote it.
        let mut versions: Vec<usize> = Vec::new();
        for (version, step) in steps.into_iter().enumerate() {
            match step {
                Step::Append(rows) | Step::Abandon(rows) => {
                    let fits = versions.len() + rows <= capacity;
                    prop_assert_eq!(cache.check_room(rows).is_ok(), fits);
                    if !fits {
                        continue;
                    }
                    let abandoned = matches!(step, Step::Abandon(_));
                    let layers = if abandoned { 2 } else { config.num_layers };
                    for layer in 0..layers {
                        let new = versions.len()..versions.len() + rows;
                        let qkv: Vec<f32> = new.flat_map(|position| row(&config, layer, position, version)).collect();
                        cache.append(layer, &qkv);
                    }
                    if !abandoned {
                        cache.advance(rows);
                        versions.extend(std::iter::repeat_n(version, rows));
                    }
                }
                Step::Truncate(len) => {
                    let result = cache.truncate(len);
                    prop_assert_eq!(result.is_ok(), len <= versions.len());
                    if result.is_ok() {
                        versions.truncate(len);
                    }
                }
                Step::Clear => {
                    cache.clear();
                    versions.clear();
                }
            }
            check_content(&config, &cache, &versions)?;
            prop_assert!(cache.len() <= cache.capacity() && cache.is_empty() == versions.is_empty());
        }
    }

    /// Limits hold for every answer of the model, the reason to end is the true one, and the model sees each token at
    /// most once.
    #[test]
    fn the_loop_keeps_its_limits(
        prompt_len in 1usize..20,
        max_new_tokens in 0usize..20,
        max_seq_len in 1usize..30,
        says in prop::collection::vec(0u32..8, 40),
    ) {
        let limits = Limits { max_new_tokens, max_seq_len, end_of_text: vec![TokenId(0), TokenId(7)] };
        let prompt = vec![TokenId(3); prompt_len];
        let (mut steps, mut shown, mut streamed) = (0, Vec::new(), Vec::new());
        let mut model = |tokens: &[TokenId]| {
            steps += 1;
            shown.extend_from_slice(tokens);
            Ok(TokenId(says[steps - 1]))
        };
        let result = generate(&prompt, &limits, &mut model, &mut |token| streamed.push(token));
        if prompt_len > max_seq_len {
            prop_assert!(result.is_err());
            return Ok(());
        }
        let generation = result.unwrap();
        prop_assert_eq!(&generation.tokens, &streamed);
        prop_assert!(streamed.len() <= max_new_tokens && prompt_len + streamed.len() <= max_seq_len);
        prop_assert!(streamed.iter().all(|token| !limits.end_of_text.contains(token)));
        prop_assert_eq!(shown.len() as u64, rows_of_cached_loop(prompt_len as u64, steps as u64));
        prop_assert!([prompt, streamed].concat().starts_with(&shown));
        match generation.finish_reason {
            FinishReason::Stop => prop_assert!(says[steps - 1] == 0 || says[steps - 1] == 7),
            FinishReason::Length => prop_assert_eq!(generation.tokens.len(), max_new_tokens),
            FinishReason::Context => prop_assert_eq!(prompt_len + generation.tokens.len(), max_seq_len),
        }
    }

    /// Time to first token and the mean of the gaps after it add up to the whole. Below two tokens there is no gap.
    #[test]
    fn the_two_times_add_up(gaps in prop::collection::vec(1u64..1000, 0..20)) {
        let mut timings = Timings::default();
        let mut now = Duration::ZERO;
        for gap in &gaps {
            now += Duration::from_micros(*gap);
            timings.token_at(now);
        }
        let us = |us: u64| Duration::from_micros(us);
        prop_assert_eq!(timings.ttft, gaps.first().map(|gap| us(*gap)));
        prop_assert_eq!(timings.last_token, (!gaps.is_empty()).then_some(now));
        prop_assert_eq!(timings.new_tokens, gaps.len());
        let after_first: u64 = gaps.iter().skip(1).sum();
        let mean = us(after_first).checked_div(gaps.len().saturating_sub(1) as u32);
        prop_assert_eq!(timings.tpot(), mean);
    }
}

/// A refused call leaves the cache as it was: the next pass gives the bits that it would have given.
#[test]
fn a_refused_pass_changes_nothing() {
    let (mut model, pool) = (small(), Pool::new(2));
    let text = tokens(&model, 9);
    let expected = lesson05(&model, &text).pop().unwrap();
    let unknown = TokenId(model.config.llama.vocab_size as u32);
    model.config.llama.max_seq_len = 11;
    for order in CacheOrder::ALL {
        let mut cache = ContiguousCache::with_order(&model.config.llama, 10, order);
        pass(&model, &pool, &mut cache, &text[..6]).unwrap();
        for bad in [
            &[][..],
            &[TokenId(1), unknown],
            &[unknown],
            &[TokenId(1); 5],
            &[TokenId(1); 6],
        ] {
            assert!(pass(&model, &pool, &mut cache, bad).is_err(), "{bad:?}");
            assert_eq!(cache.len(), 6);
        }
        assert!(cache.truncate(7).is_err());
        assert!(pass(&model, &pool, &mut cache, &text[6..]).unwrap() == expected);
    }
}

/// A pass into the last place is no error; one more is.
#[test]
fn a_cache_takes_as_many_positions_as_it_has_places() {
    let (model, pool) = (small(), Pool::new(1));
    let text = tokens(&model, 8);
    let mut cache = ContiguousCache::new(&model.config.llama, 7);
    pass(&model, &pool, &mut cache, &text[..7]).unwrap();
    let full = pass(&model, &pool, &mut cache, &text[7..]);
    let (len, new, capacity) = match full {
        Err(CacheError::Full { len, new, capacity }) => (len, new, capacity),
        other => panic!("expected a full cache, found {other:?}"),
    };
    assert_eq!((len, new, capacity), (7, 1, 7));
}

/// A text that outgrows its cache ends with a reason, one token after the last place was written. The tokens before are
/// those of a larger cache.
#[test]
fn a_full_cache_ends_an_answer_with_a_reason() {
    let model = small();
    let prompt = tokens(&model, 5);
    let with_room = |capacity: usize| {
        let mut cache = ContiguousCache::new(&model.config.llama, capacity);
        let timed = answer(&model, &mut cache, &prompt, 20, &mut |_| {}).unwrap();
        (timed.generation, cache.len())
    };
    let (whole, _) = with_room(24);
    assert_eq!((whole.tokens.len(), whole.finish_reason), (20, FinishReason::Length));
    for capacity in [5, 6, 12, 23] {
        let (cut, held) = with_room(capacity);
        assert_eq!((held, cut.finish_reason), (capacity, FinishReason::Context));
        assert_eq!(cut.tokens, whole.tokens[..capacity + 1 - 5], "capacity {capacity}");
    }
}
