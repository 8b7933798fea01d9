//! Who computes: the seam between the engine, which counts, and a model, which multiplies.

use crate::batch::Batch;
use crate::error::EngineError;

// ANCHOR: runner
/// Computes a batch. `M` is the memory that holds keys and values; a runner that needs none works with any.
pub trait Runner<M> {
    /// One row of logits for each sequence that wants one, in the order of the batch. Shape: `[sampling, vocab_size]`. An empty batch
    /// gives no row and computes nothing.
    ///
    /// # Errors
    /// What went wrong. Then the same batch can be computed again.
    fn forward(&mut self, memory: &mut M, batch: &Batch) -> Result<&mut [f32], EngineError>;
}
// ANCHOR_END: runner

/// No model: all logits are equal, so that a greedy choice is token 0. For schedules, where only the number of tokens counts.
#[derive(Clone, Debug)]
pub struct NoModel {
    vocab_size: usize,
    logits: Vec<f32>,
}

impl NoModel {
    /// Rows of `vocab_size` zeros.
    pub fn new(vocab_size: usize) -> NoModel {
        NoModel {
            vocab_size,
            logits: Vec::new(),
        }
    }
}

impl<M> Runner<M> for NoModel {
    fn forward(&mut self, _memory: &mut M, batch: &Batch) -> Result<&mut [f32], EngineError> {
        let numbers = batch.sampling().count() * self.vocab_size;
        // All of them anew: a choice may write on its row.
        self.logits.clear();
        self.logits.resize(numbers, 0.0);
        Ok(&mut self.logits)
    }
}
