//! What several test files share.
#![allow(dead_code)]

use generation::{Generation, Model, State};
use kv_cache::{ContiguousCache, cache_for};
use layout::pool::Pool;
use training::TokenId;

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

/// The answer of lesson 06 to this prompt alone.
pub fn alone(model: &Model, prompt: &[TokenId], max_new_tokens: usize) -> Generation {
    let mut cache = cache_for(model, prompt.len(), max_new_tokens);
    let (mut state, pool) = (State::new(&model.config, 1), Pool::new(1));
    let (cache, state) = (&mut cache, &mut state);
    let max = max_new_tokens;
    kv_cache::session::generate(model, state, cache, &pool, prompt, max, &mut |_| {})
        .unwrap()
        .generation
}

/// Logits of lesson 06 after the prompt and after each further token, the prompt alone in its cache.
pub fn logits_alone(model: &Model, prompt: &[TokenId], further: &[TokenId]) -> Vec<Vec<f32>> {
    let (mut state, pool) = (State::new(&model.config, 1), Pool::new(1));
    let mut cache = ContiguousCache::new(&model.config.llama, prompt.len() + further.len());
    let chunks = std::iter::once(prompt).chain(further.chunks(1));
    chunks
        .map(|chunk| {
            let (config, weights) = (&model.config, &model.weights);
            kv_cache::forward::forward(config, weights, &mut state, &mut cache, &pool, chunk)
                .unwrap()
                .to_vec()
        })
        .collect()
}
