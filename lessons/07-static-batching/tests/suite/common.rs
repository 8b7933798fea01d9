//! Models, prompts, passes and streams that the modules share.

use generation::{Generation, Model, State};
use kv_cache::{ContiguousCache, cache_for};
use layout::pool::Pool;
use static_batching::clock::VirtualClock;
use static_batching::forward::forward;
use static_batching::plan::StepRequest;
use static_batching::serve::{Served, Window, serve};
use static_batching::{BatchError, BatchRun, BatchState, Pad, PaddedBatch, generate_batch};
use std::convert::Infallible;
use std::time::Duration;
use training::TokenId;

pub const MS: Duration = Duration::from_millis(1);

/// A fixture model by name, without an end of text, so that an answer is as long as asked for.
pub fn fixture(name: &str) -> Model {
    let mut model = Model::open(fixtures::model(name).to_str().unwrap()).unwrap();
    model.config.eos_token_ids.clear();
    model
}

/// A prompt of `len` tokens; each `salt` gives another text.
pub fn prompt(len: usize, salt: usize) -> Vec<TokenId> {
    (0..len)
        .map(|i| TokenId(((i * 37 + salt * 101 + 11) % 199 + 1) as u32))
        .collect()
}

/// Borrows prompts, as the functions of the lesson take them.
pub fn slices(prompts: &[Vec<TokenId>]) -> Vec<&[TokenId]> {
    prompts.iter().map(Vec::as_slice).collect()
}

/// The first pass over prompts.
pub fn prefill(model: &Model, prompts: &[Vec<TokenId>], rule: Pad) -> Result<PaddedBatch, BatchError> {
    PaddedBatch::prefill(&model.config.llama, &slices(prompts), rule)
}

/// One pass over a batch: its logits.
pub fn pass(model: &Model, state: &mut BatchState, pool: &Pool, batch: &PaddedBatch) -> Result<Vec<f32>, BatchError> {
    let caches = &mut state.caches[..batch.batch_size()];
    let (config, weights) = (&model.config, &model.weights);
    Ok(forward(config, weights, &mut state.state, caches, pool, batch)?.to_vec())
}

/// The answers of a batch.
pub fn answers(
    model: &Model,
    state: &mut BatchState,
    prompts: &[Vec<TokenId>],
    max: &[usize],
    rule: Pad,
) -> Result<BatchRun, BatchError> {
    let pool = Pool::new(1);
    generate_batch(model, state, &pool, &slices(prompts), max, rule, &mut |_, _| {})
}

/// The answer of lesson 06 to this prompt alone.
pub fn alone(model: &Model, prompt: &[TokenId], max_new_tokens: usize) -> Generation {
    let mut cache = cache_for(model, prompt.len(), max_new_tokens);
    let (mut state, pool) = (State::new(&model.config, 1), Pool::new(1));
    let timed = kv_cache::session::generate(
        model,
        &mut state,
        &mut cache,
        &pool,
        prompt,
        max_new_tokens,
        &mut |_| {},
    );
    timed.unwrap().generation
}

/// Logits of lesson 06 after the prompt and after each further token, the prompt alone in its cache.
pub fn logits_alone(model: &Model, prompt: &[TokenId], further: &[TokenId]) -> Vec<Vec<f32>> {
    let (mut state, pool) = (State::new(&model.config, 1), Pool::new(1));
    let mut cache = ContiguousCache::new(&model.config.llama, prompt.len() + further.len());
    let (config, weights) = (&model.config, &model.weights);
    let mut pass = |chunk: &[TokenId]| {
        let logits = kv_cache::forward::forward(config, weights, &mut state, &mut cache, &pool, chunk);
        logits.unwrap().to_vec()
    };
    let chunks = std::iter::once(prompt).chain(further.chunks(1));
    chunks.map(&mut pass).collect()
}

/// Requests that are there from the start, as steps: answers of these lengths after prompts of four tokens.
pub fn step_requests(new_tokens: &[usize]) -> Vec<StepRequest> {
    let request = |new_tokens: &usize| StepRequest {
        arrives: 0,
        prompt_tokens: 4,
        new_tokens: *new_tokens,
    };
    new_tokens.iter().map(request).collect()
}

/// Serves a stream on the virtual clock; `time` gives the time of a batch from its size.
pub fn simulate(
    stream: &[Duration],
    max_batch: usize,
    max_wait: Duration,
    time: impl Fn(usize) -> Duration,
) -> Vec<Served> {
    let window = Window::new(max_batch, max_wait).unwrap();
    let mut next = 0;
    let run = &mut |clock: &mut VirtualClock, ids: std::ops::Range<usize>| {
        assert_eq!(ids.start, next, "each request runs once and in its turn");
        next = ids.end;
        clock.advance(time(ids.len()));
        Ok::<(), Infallible>(())
    };
    serve(&mut VirtualClock::new(), stream, &window, run).unwrap()
}
