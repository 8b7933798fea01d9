//! A real model behind the engine.

use crate::batch::Batch;
use crate::cache::KvCache;
use crate::error::EngineError;
use crate::forward::forward;
use crate::runner::Runner;
use generation::attention::reserve_scores;
use generation::{Linear, Model, State, Weights};
use layout::packed::PackedMatrix;
use layout::pool::Pool;
use loading::config::ModelConfig;

/// Computes batches with the weights of a model, over any cache.
pub struct ModelRunner<'m, L = PackedMatrix> {
    config: &'m ModelConfig,
    weights: &'m Weights<L>,
    pool: &'m Pool,
    state: State,
}

impl<'m> ModelRunner<'m> {
    /// A runner for up to `max_running` decoding sequences of up to `max_seq_len` tokens. All scratch that decoding needs is allocated here; a
    /// prompt may make it grow.
    pub fn new(model: &'m Model, pool: &'m Pool, max_running: usize, max_seq_len: usize) -> ModelRunner<'m> {
        ModelRunner::with_weights(&model.config, &model.weights, pool, max_running, max_seq_len)
    }
}

impl<'m, L: Linear> ModelRunner<'m, L> {
    /// As [`ModelRunner::new`], for weights stored in any way.
    pub fn with_weights(
        config: &'m ModelConfig,
        weights: &'m Weights<L>,
        pool: &'m Pool,
        max_running: usize,
        max_seq_len: usize,
    ) -> ModelRunner<'m, L> {
        let positions = max_seq_len.min(config.llama.max_seq_len);
        let mut state = State::new(config, max_running);
        state.reserve_positions(positions);
        state.reserve_logits(config, max_running);
        // A prompt may be as many rows as there are positions.
        let (rows, scores) = (max_running.max(positions), &mut state.scores);
        reserve_scores(pool, &config.llama, rows, positions, scores);
        ModelRunner {
            config,
            weights,
            pool,
            state,
        }
    }

    /// Bytes of scratch.
    pub fn bytes(&self) -> usize {
        self.state.bytes()
    }
}

impl<L: Linear, C: KvCache> Runner<C> for ModelRunner<'_, L> {
    fn forward(&mut self, cache: &mut C, batch: &Batch) -> Result<&mut [f32], EngineError> {
        let ModelRunner {
            config,
            weights,
            pool,
            state,
        } = self;
        Ok(forward(config, weights, state, cache, pool, batch)?)
    }
}
