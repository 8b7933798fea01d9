//! Properties that hold for every input.

mod common;

use common::{last_row, lesson05, small, tokens};
use generation::{FinishReason, Limits, State};
use kv_cache::generate::generate;
use kv_cache::work::rows_of_cached_loop;
use kv_cache::{CacheError, CacheOrder, ContiguousCache, Timings, forward, session};
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

/// What may happen to a cache.
#[derive(Clone, Debug)]
enum Step {
    /// A pass over so many rows.
    Append(usize),
    /// A pass that stops after some layers and never advances.
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

/// A row whose every number says where it belongs.
fn row(config: &LlamaConfig, layer: usize, position: usize, version: usize) -> Vec<f32> {
    let width = config.q_size() + 2 * config.kv_size();
    let first = ((version * 20 + position) * config.num_layers + layer) * width;
    (first..first + width).map(|i| i as f32).collect()
}

/// Reads all that the cache holds back through views and compares it with what was written.
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
    /// Whatever happens, in whatever order, a view shows what was written last at each position, and nothing that was given up.
    #[test]
    fn a_view_shows_what_was_kept(
        steps in prop::collection::vec(any_step(), 1..30),
        capacity in 1usize..14,
        order in prop::sample::select(CacheOrder::ALL.to_vec()),
    ) {
        let config = shape();
        let mut cache = ContiguousCache::with_order(&config, capacity, order);
        // The version of each position that is held: which step wrote it.
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

    /// Limits hold whatever the model says, the reason given is the true one, and every token is shown to the model at most once.
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
        let result = generate(
            &prompt,
            &limits,
            &mut |tokens| {
                steps += 1;
                shown.extend_from_slice(tokens);
                Ok(TokenId(says[steps - 1]))
            },
            &mut |token| streamed.push(token),
        );
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

    /// Time to first token and the mean of the others add up to the whole.
    #[test]
    fn the_two_times_add_up(gaps in prop::collection::vec(1u64..1000, 2..20)) {
        let mut timings = Timings::default();
        let mut now = Duration::ZERO;
        for gap in &gaps {
            now += Duration::from_micros(*gap);
            timings.token_at(now);
        }
        prop_assert_eq!(timings.ttft, Some(Duration::from_micros(gaps[0])));
        prop_assert_eq!((timings.last_token, timings.new_tokens), (Some(now), gaps.len()));
        let after_first: u64 = gaps[1..].iter().sum();
        let mean = Duration::from_micros(after_first) / (gaps.len() - 1) as u32;
        prop_assert_eq!(timings.tpot(), Some(mean));
    }
}

#[test]
fn below_two_tokens_there_is_no_time_per_token() {
    let mut timings = Timings::default();
    assert_eq!((timings.ttft, timings.tpot()), (None, None));
    timings.token_at(Duration::from_millis(3));
    assert_eq!((timings.ttft, timings.tpot()), (Some(Duration::from_millis(3)), None));
}

/// A call that is refused leaves the cache as it was: what follows gives the bits that it would have given.
#[test]
fn a_refused_pass_changes_nothing() {
    let (mut model, pool) = (small(), Pool::new(2));
    let text = tokens(&model, 9);
    let expected = lesson05(&model, &pool, &text).pop().unwrap();
    let unknown = TokenId(model.config.llama.vocab_size as u32);
    model.config.llama.max_seq_len = 11;
    for order in CacheOrder::ALL {
        let mut cache = ContiguousCache::with_order(&model.config.llama, 10, order);
        last_row(&model, &pool, &mut cache, &[&text[..6]]);
        let (config, weights) = (&model.config, &model.weights);
        let mut state = State::new(config, 0);
        let long = vec![TokenId(1); 5];
        let longer = vec![TokenId(1); 6];
        for bad in [&[][..], &[TokenId(1), unknown], &[unknown], &long, &longer] {
            let result = forward::forward(config, weights, &mut state, &mut cache, &pool, bad);
            assert!(result.is_err(), "{bad:?}");
            assert_eq!(cache.len(), 6);
        }
        assert!(cache.truncate(7).is_err());
        assert!(last_row(&model, &pool, &mut cache, &[&text[6..]]) == expected);
    }
}

/// A pass into the last place is no error; one more is.
#[test]
fn a_cache_takes_as_many_positions_as_it_has_places() {
    let (model, pool) = (small(), Pool::new(1));
    let text = tokens(&model, 8);
    let (config, weights) = (&model.config, &model.weights);
    let mut cache = ContiguousCache::new(&config.llama, 7);
    let mut state = State::new(config, 0);
    forward::forward(config, weights, &mut state, &mut cache, &pool, &text[..7]).unwrap();
    let full = forward::forward(config, weights, &mut state, &mut cache, &pool, &text[7..]);
    assert!(matches!(
        full,
        Err(CacheError::Full {
            len: 7,
            new: 1,
            capacity: 7
        })
    ));
}

/// A text that outgrows its cache is cut off with a reason, one token after the last place was written, and what came until then is what
/// a larger cache gives.
#[test]
fn a_full_cache_ends_an_answer_with_a_reason() {
    let (model, pool) = (small(), Pool::new(1));
    let prompt = tokens(&model, 5);
    let mut state = State::new(&model.config, 0);
    let mut answer = |capacity: usize| {
        let mut cache = ContiguousCache::new(&model.config.llama, capacity);
        let timed = session::generate(&model, &mut state, &mut cache, &pool, &prompt, 20, &mut |_| {}).unwrap();
        (timed.generation, cache.len())
    };
    let (whole, _) = answer(24);
    assert_eq!((whole.tokens.len(), whole.finish_reason), (20, FinishReason::Length));
    for capacity in [5, 6, 12, 23] {
        let (cut, held) = answer(capacity);
        assert_eq!((held, cut.finish_reason), (capacity, FinishReason::Context));
        assert_eq!(cut.tokens, whole.tokens[..capacity + 1 - 5], "capacity {capacity}");
    }
}
