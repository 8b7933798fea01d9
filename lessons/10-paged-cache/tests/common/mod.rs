//! What several test files share.
#![allow(dead_code)]

use continuous_batching::{Delivery, Event, FinishReason, SeqId};
use generation::{Model, State};
use kv_cache::cache::ContiguousCache;
use layout::pool::Pool;
use std::collections::BTreeMap;
use training::TokenId;

/// Tiny models: as many key heads as query heads, some, and one.
pub fn fixture_models() -> Vec<Model> {
    [
        "all-kv-untied-f32",
        "some-kv-tied-bf16",
        "one-kv-untied-f16",
    ]
    .into_iter()
    .map(|name| Model::open(fixtures::model(name).to_str().unwrap()).unwrap())
    .collect()
}

/// Tokens that look random and are the same each time; the same beginning for every length.
pub fn text(model: &Model, len: usize, seed: u32) -> Vec<TokenId> {
    let vocab_size = model.config.llama.vocab_size as u32;
    let token = |i: u32| 3 + (i * 97 + seed * 1009 + i * i * 31) % (vocab_size - 3);
    (0..len as u32).map(|i| TokenId(token(i))).collect()
}

/// Numbers between -1 and 1, the same ones for the same seed.
pub fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect()
}

/// Lesson 06, one request at a time.
pub struct Single<'m> {
    model: &'m Model,
    pool: Pool,
}

impl<'m> Single<'m> {
    pub fn new(model: &'m Model) -> Single<'m> {
        Single {
            model,
            pool: Pool::new(2),
        }
    }

    /// Logits of the token after these, computed in one chunk.
    pub fn logits(&self, tokens: &[TokenId]) -> Vec<f32> {
        let mut state = State::new(&self.model.config, 0);
        let mut cache = ContiguousCache::new(&self.model.config.llama, tokens.len());
        let (config, weights) = (&self.model.config, &self.model.weights);
        kv_cache::forward::forward(config, weights, &mut state, &mut cache, &self.pool, tokens)
            .unwrap()
            .to_vec()
    }

    /// The answer and why it ends, for prompt and answer of at most `max_seq_len` tokens.
    pub fn answer(
        &self,
        prompt: &[TokenId],
        max_new_tokens: usize,
        max_seq_len: usize,
    ) -> (Vec<TokenId>, FinishReason) {
        let mut state = State::new(&self.model.config, 0);
        // Its last token needs no place.
        let mut cache = ContiguousCache::new(&self.model.config.llama, max_seq_len - 1);
        let run = kv_cache::session::generate(
            self.model,
            &mut state,
            &mut cache,
            &self.pool,
            prompt,
            max_new_tokens,
            &mut |_| {},
        );
        let generation = run.unwrap().generation;
        (generation.tokens, generation.finish_reason.into())
    }
}

/// Takes all events: tokens and end of each request.
#[derive(Debug, Default)]
pub struct Listener {
    pub tokens: BTreeMap<SeqId, Vec<TokenId>>,
    pub ends: BTreeMap<SeqId, FinishReason>,
}

impl Listener {
    pub fn take(&mut self, event: Event<'_>) -> Delivery {
        match event {
            Event::Token { id, token } => {
                assert!(
                    !self.ends.contains_key(&id),
                    "{id} got a token after its end"
                );
                self.tokens.entry(id).or_default().push(token);
            }
            Event::Finished { id, reason, output } => {
                assert_eq!(self.tokens.entry(id).or_default(), output);
                assert_eq!(self.ends.insert(id, reason), None, "{id} ended twice");
            }
        }
        Delivery::Taken
    }
}
