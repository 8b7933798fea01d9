//! What several test files share.
#![allow(dead_code)]

use fixtures::Golden;
use generation::{Model, State};
use kv_cache::forward::{forward, forward_all};
use kv_cache::{CacheOrder, ContiguousCache};
use layout::pool::Pool;
use std::ops::Range;
use training::TokenId;

/// A tiny model, with nothing that ends its text: every test says itself how long an answer is.
pub fn fixture(name: &str) -> Model {
    let mut model = Model::open(fixtures::model(name).to_str().unwrap()).unwrap();
    model.config.eos_token_ids.clear();
    model
}

/// All tiny models.
pub fn all_fixtures() -> Vec<Model> {
    fixtures::MODELS.iter().map(|name| fixture(name)).collect()
}

/// The tiny model that most tests use: two query heads on each key head.
pub fn small() -> Model {
    fixture("some-kv-tied-bf16")
}

/// The trained model, likewise.
pub fn stories() -> Model {
    let mut model = Model::open("stories").unwrap_or_else(|error| panic!("{error}"));
    model.config.eos_token_ids.clear();
    model
}

/// Golden values of a model folder.
pub fn golden(path: &std::path::Path) -> Golden {
    fixtures::golden_for(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Tokens all over the vocabulary.
pub fn tokens(model: &Model, len: usize) -> Vec<TokenId> {
    let vocab_size = model.config.llama.vocab_size;
    (0..len).map(|i| TokenId(((i * 97 + 13) % vocab_size) as u32)).collect()
}

/// The rows of a matrix of logits.
fn rows(model: &Model, logits: &[f32]) -> Vec<Vec<f32>> {
    let rows = logits.chunks_exact(model.config.llama.vocab_size);
    rows.map(<[f32]>::to_vec).collect()
}

/// Lesson 05: logits of all rows of a text in one pass without a cache. Row `i` depends on no token after it, so it is what a pass over
/// the first `i + 1` tokens gives (lesson 05's tests hold that).
pub fn lesson05(model: &Model, pool: &Pool, tokens: &[TokenId]) -> Vec<Vec<f32>> {
    let mut state = State::new(&model.config, tokens.len());
    let mut logits = vec![0.0; tokens.len() * model.config.llama.vocab_size];
    let (config, weights) = (&model.config, &model.weights);
    generation::forward::forward_all(config, weights, &mut state, pool, tokens, &mut logits).unwrap();
    rows(model, &logits)
}

/// This lesson: logits of all rows, the text cut into these chunks.
pub fn in_chunks(
    model: &Model,
    pool: &Pool,
    order: CacheOrder,
    tokens: &[TokenId],
    chunks: &[Range<usize>],
) -> Vec<Vec<f32>> {
    let (config, weights) = (&model.config, &model.weights);
    // More room than needed: a slip in strides shows only where capacity and length differ.
    let mut cache = ContiguousCache::with_order(&config.llama, tokens.len() + 3, order);
    let mut state = State::new(config, 0);
    let mut all = Vec::new();
    for chunk in chunks {
        let mut logits = vec![0.0; chunk.len() * config.llama.vocab_size];
        let chunk = &tokens[chunk.clone()];
        forward_all(config, weights, &mut state, &mut cache, pool, chunk, &mut logits).unwrap();
        all.extend(rows(model, &logits));
    }
    assert_eq!(cache.len(), tokens.len());
    all
}

/// Chunks of these lengths, one after the other.
pub fn chunks(lengths: &[usize]) -> Vec<Range<usize>> {
    let mut end = 0;
    let next = |len: &usize| {
        let start = end;
        end += len;
        start..end
    };
    lengths.iter().map(next).collect()
}

/// Logits of the last row after these chunks.
pub fn last_row(model: &Model, pool: &Pool, cache: &mut ContiguousCache, chunks: &[&[TokenId]]) -> Vec<f32> {
    let mut state = State::new(&model.config, 0);
    let mut last = Vec::new();
    for chunk in chunks {
        let (config, weights) = (&model.config, &model.weights);
        last = forward(config, weights, &mut state, cache, pool, chunk)
            .unwrap()
            .to_vec();
    }
    last
}
