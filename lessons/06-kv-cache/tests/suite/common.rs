//! Models, texts and passes that the modules share.

use generation::{Model, State};
use kv_cache::forward::{forward, forward_all};
use kv_cache::{CacheError, CacheOrder, ContiguousCache, Timed, session};
use layout::pool::Pool;
use training::TokenId;

/// A fixture model by name, without an end of text: each test says itself how long an answer is.
pub fn fixture(name: &str) -> Model {
    open(fixtures::model(name).to_str().unwrap())
}

/// The trained model, without an end of text.
pub fn stories() -> Model {
    open("stories")
}

fn open(model: &str) -> Model {
    let mut model = Model::open(model).unwrap_or_else(|error| panic!("{error}"));
    model.config.eos_token_ids.clear();
    model
}

/// All fixture models.
pub fn all_fixtures() -> Vec<Model> {
    fixtures::MODELS.iter().map(|name| fixture(name)).collect()
}

/// The fixture that most tests use: two query heads on each key head.
pub fn small() -> Model {
    fixture("some-kv-tied-bf16")
}

/// Scratch for a model.
pub fn state(model: &Model) -> State {
    State::new(&model.config, 0)
}

/// Tokens spread over the vocabulary.
pub fn tokens(model: &Model, len: usize) -> Vec<TokenId> {
    let vocab_size = model.config.llama.vocab_size;
    (0..len).map(|i| TokenId(((i * 97 + 13) % vocab_size) as u32)).collect()
}

fn rows(model: &Model, logits: &[f32]) -> Vec<Vec<f32>> {
    let rows = logits.chunks_exact(model.config.llama.vocab_size);
    rows.map(<[f32]>::to_vec).collect()
}

/// Logits of all rows of a text in one pass of lesson 05. Row `i` depends on no later token, so it is what a pass over
/// the first `i + 1` tokens gives (a test of lesson 05 compares them).
pub fn lesson05(model: &Model, tokens: &[TokenId]) -> Vec<Vec<f32>> {
    let mut logits = vec![0.0; tokens.len() * model.config.llama.vocab_size];
    let (config, weights, pool) = (&model.config, &model.weights, &Pool::new(2));
    generation::forward::forward_all(config, weights, &mut state(model), pool, tokens, &mut logits).unwrap();
    rows(model, &logits)
}

/// Logits of all rows of a text in this lesson's passes over chunks of these lengths.
pub fn in_chunks(
    model: &Model,
    pool: &Pool,
    order: CacheOrder,
    tokens: &[TokenId],
    lengths: &[usize],
) -> Vec<Vec<f32>> {
    let (config, weights) = (&model.config, &model.weights);
    // More room than needed: a wrong stride shows only where capacity and length differ.
    let mut cache = ContiguousCache::with_order(&config.llama, tokens.len() + 3, order);
    let mut state = state(model);
    let (mut all, mut rest) = (Vec::new(), tokens);
    for len in lengths {
        let (chunk, after) = rest.split_at(*len);
        let mut logits = vec![0.0; chunk.len() * config.llama.vocab_size];
        forward_all(config, weights, &mut state, &mut cache, pool, chunk, &mut logits).unwrap();
        all.extend(rows(model, &logits));
        rest = after;
    }
    assert_eq!(cache.len(), tokens.len());
    all
}

/// One pass over a chunk: the logits of its last row.
pub fn pass(
    model: &Model,
    pool: &Pool,
    cache: &mut ContiguousCache,
    chunk: &[TokenId],
) -> Result<Vec<f32>, CacheError> {
    let (config, weights, state) = (&model.config, &model.weights, &mut state(model));
    Ok(forward(config, weights, state, cache, pool, chunk)?.to_vec())
}

/// The answer of the cached loop.
pub fn answer(
    model: &Model,
    cache: &mut ContiguousCache,
    prompt: &[TokenId],
    max_new_tokens: usize,
    on_token: &mut dyn FnMut(TokenId),
) -> Result<Timed, CacheError> {
    let (state, pool) = (&mut state(model), &Pool::new(1));
    session::generate(model, state, cache, pool, prompt, max_new_tokens, on_token)
}
