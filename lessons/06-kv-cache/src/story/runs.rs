//! The loops that race: the same greedy tokens, by the naive loop, with the cache, and with one that grows.

use super::Scene;
use generation::generate::greedy;
use generation::{GenerateError, Limits, Model, State};
use kv_cache::concat::{self, GrowingCache};
use kv_cache::forward::forward;
use kv_cache::generate::generate;
use kv_cache::{CacheError, ContiguousCache};
use layout::pool::Pool;
use std::time::{Duration, Instant};
use training::TokenId;

/// Exactly `new_tokens` tokens, whatever the model says.
fn limits(model: &Model, new_tokens: usize) -> Limits {
    Limits {
        end_of_text: Vec::new(),
        ..model.limits(new_tokens)
    }
}

/// Time for one of the tokens that came, and the tokens.
type Outcome = (Vec<TokenId>, Duration);

fn timed(new_tokens: usize, run: impl FnOnce() -> Result<Vec<TokenId>, CacheError>) -> Result<Outcome, CacheError> {
    let started = Instant::now();
    let tokens = run()?;
    Ok((tokens, started.elapsed() / new_tokens.max(1) as u32))
}

/// Lesson 05's loop.
pub fn naive(
    model: &Model,
    state: &mut State,
    pool: &Pool,
    prompt: &[TokenId],
    new_tokens: usize,
) -> Result<Outcome, CacheError> {
    let limits = limits(model, new_tokens);
    timed(new_tokens, || {
        let mut next =
            |tokens: &[TokenId]| -> Result<TokenId, GenerateError> { greedy(model.forward(state, pool, tokens)?) };
        let generation = generation::generate::generate(prompt, &limits, &mut next, &mut |_| {})?;
        Ok(generation.tokens)
    })
}

/// This lesson's loop, over an empty cache with room for all of it.
pub fn cached(
    model: &Model,
    state: &mut State,
    cache: &mut ContiguousCache,
    pool: &Pool,
    prompt: &[TokenId],
    new_tokens: usize,
) -> Result<Outcome, CacheError> {
    cache.clear();
    let limits = limits(model, new_tokens);
    timed(new_tokens, || {
        let mut next = |tokens: &[TokenId]| {
            let logits = forward(&model.config, &model.weights, state, cache, pool, tokens)?;
            Ok(greedy(logits)?)
        };
        Ok(generate(prompt, &limits, &mut next, &mut |_| {})?.tokens)
    })
}

/// The same over a cache that grows.
pub fn growing(
    model: &Model,
    state: &mut State,
    cache: &mut GrowingCache,
    pool: &Pool,
    prompt: &[TokenId],
    new_tokens: usize,
) -> Result<Outcome, CacheError> {
    let limits = limits(model, new_tokens);
    timed(new_tokens, || {
        let mut next = |tokens: &[TokenId]| {
            let (config, weights) = (&model.config, &model.weights);
            let logits = concat::forward(config, weights, state, cache, pool, tokens)?;
            Ok(greedy(logits)?)
        };
        Ok(generate(prompt, &limits, &mut next, &mut |_| {})?.tokens)
    })
}

/// Tokens after the prompt of the scene, as far as the answer reaches; made-up ones behind it.
pub fn text_of(scene: &Scene, len: usize) -> Vec<TokenId> {
    let told = scene.prompt.iter().chain(&scene.answer).copied();
    let rest = scene.model.made_up_tokens(0, len);
    told.chain(rest).take(len).collect()
}
