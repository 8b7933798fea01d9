//! Single runs, for tests: a batch is compared with them.

use crate::request::FinishReason;
use generation::{Model, State};
use kv_cache::cache::ContiguousCache;
use layout::pool::Pool;
use training::TokenId;

/// Lesson 06, one request at a time.
pub struct Single<'m> {
    model: &'m Model,
    pool: Pool,
}

impl<'m> Single<'m> {
    /// Single runs of `model`.
    pub fn new(model: &'m Model) -> Single<'m> {
        Single {
            model,
            pool: Pool::new(2),
        }
    }

    /// Logits of the token after these, computed in one chunk. Shape: `[vocab_size]`.
    ///
    /// # Panics
    /// If the model refuses them.
    pub fn logits(&self, tokens: &[TokenId]) -> Vec<f32> {
        let mut state = State::new(&self.model.config, 0);
        // A new cache and new scratch for each run, so that no run depends on another.
        let mut cache = ContiguousCache::new(&self.model.config.llama, tokens.len());
        let (config, weights) = (&self.model.config, &self.model.weights);
        kv_cache::forward::forward(config, weights, &mut state, &mut cache, &self.pool, tokens)
            .expect("the tokens fit")
            .to_vec()
    }

    /// The greedy answer and why it ends, for prompt and answer of at most `max_seq_len` tokens.
    ///
    /// # Panics
    /// If the model refuses the prompt.
    pub fn answer(
        &self,
        prompt: &[TokenId],
        max_new_tokens: usize,
        max_seq_len: usize,
    ) -> (Vec<TokenId>, FinishReason) {
        let mut state = State::new(&self.model.config, 0);
        // The last token of the answer is not computed, so it needs no place.
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
        let generation = run.expect("the prompt fits").generation;
        (generation.tokens, generation.finish_reason.into())
    }
}
