//! The runner: the seam between the engine, which decides from numbers, and a model, which multiplies.

use crate::batch::Batch;
use crate::cache::KvCache;
use crate::error::EngineError;
use crate::forward::forward;
use crate::slot_cache::SlotCache;
use generation::attention::reserve_scores;
use generation::{Linear, Model, State, Weights};
use layout::packed::PackedMatrix;
use layout::pool::Pool;
use loading::config::ModelConfig;

// ANCHOR: runner
/// Computes a batch. The batch carries all that the runner needs to know of requests and of memory.
pub trait Runner {
    /// One row of logits for each sequence that wants one, in the order of the batch. Shape: `[sampling, vocab_size]`.
    /// An empty batch gives no row.
    ///
    /// # Errors
    /// The pass failed. The engine gives up then.
    fn forward(&mut self, batch: &Batch) -> Result<&mut [f32], EngineError>;
}
// ANCHOR_END: runner

/// Computes batches with the weights of a model, over any cache.
pub struct ModelRunner<'m, C = SlotCache, L = PackedMatrix> {
    /// Keys and values.
    pub cache: C,
    config: &'m ModelConfig,
    weights: &'m Weights<L>,
    pool: &'m Pool,
    state: State,
}

impl<'m, C: KvCache> ModelRunner<'m, C> {
    /// A runner for up to `max_running` decoding sequences of up to `max_seq_len` tokens. All scratch that decoding
    /// needs is allocated here; a long prompt may make it grow.
    pub fn new(model: &'m Model, pool: &'m Pool, cache: C, max_running: usize, max_seq_len: usize) -> Self {
        ModelRunner::with_weights(&model.config, &model.weights, pool, cache, max_running, max_seq_len)
    }
}

impl<'m, C: KvCache, L: Linear> ModelRunner<'m, C, L> {
    /// As [`ModelRunner::new`], for weights stored in any way.
    pub fn with_weights(
        config: &'m ModelConfig,
        weights: &'m Weights<L>,
        pool: &'m Pool,
        cache: C,
        max_running: usize,
        max_seq_len: usize,
    ) -> Self {
        // No sequence reaches beyond the model's context, whatever the engine allows.
        let positions = max_seq_len.min(config.llama.max_seq_len);
        let mut state = State::new(config, max_running);
        state.reserve_positions(positions);
        state.reserve_logits(config, max_running);
        // A prompt may have as many rows as there are positions.
        let (rows, scores) = (max_running.max(positions), &mut state.scores);
        reserve_scores(pool, &config.llama, rows, positions, scores);
        ModelRunner {
            cache,
            config,
            weights,
            pool,
            state,
        }
    }

    /// Bytes of scratch, without the cache.
    pub fn bytes(&self) -> usize {
        self.state.bytes()
    }
}

impl<C: KvCache, L: Linear> Runner for ModelRunner<'_, C, L> {
    fn forward(&mut self, batch: &Batch) -> Result<&mut [f32], EngineError> {
        // The references are copied out of `self`, because state and cache are borrowed mutably for the pass.
        let (config, weights, pool) = (self.config, self.weights, self.pool);
        Ok(forward(config, weights, &mut self.state, &mut self.cache, pool, batch)?)
    }
}

/// A runner without a model: all logits are zero, so that a greedy choice is token 0. For schedules, where only the
/// number of tokens counts.
#[derive(Clone, Debug)]
pub struct NoModel {
    vocab_size: usize,
    logits: Vec<f32>,
}

impl NoModel {
    /// A runner that gives rows of `vocab_size` zeros.
    pub fn new(vocab_size: usize) -> NoModel {
        NoModel {
            vocab_size,
            logits: Vec::new(),
        }
    }
}

impl Runner for NoModel {
    fn forward(&mut self, batch: &Batch) -> Result<&mut [f32], EngineError> {
        let numbers = batch.sampling().count() * self.vocab_size;
        // Cleared first, so that `resize` writes every zero anew: a choice may have overwritten its row.
        self.logits.clear();
        self.logits.resize(numbers, 0.0);
        Ok(&mut self.logits)
    }
}
