//! What the forward pass knows of memory.

use crate::batch::Batch;
use kv_cache::CacheError;
use layout::pool::Pool;
use training::LlamaConfig;

// ANCHOR: cache
/// Keys and values of many sequences, as the forward pass sees them: it hands over new ones, and asks for attention over all that a row may
/// see. Where they lie is the cache's own affair. [`crate::memory::Memory`] is the other side, that of the scheduler.
///
/// One pass: [`KvCache::begin`]; then for each layer, in order, [`KvCache::append`] and [`KvCache::attend`]; then [`KvCache::commit`].
/// All four get the same batch. Shapes: `qkv` `[rows, (num_heads + 2 num_kv_heads) head_dim]`, `attended` `[rows, num_heads head_dim]`.
pub trait KvCache {
    /// Finds the place of every row, and refuses a batch that does not fit. Positions say where rows go: those of a sequence begin where what
    /// is held ends, or before it. Then everything from there on is forgotten, so that a pass that failed can be computed again.
    ///
    /// # Errors
    /// [`CacheError::Full`]. Nothing has changed then.
    ///
    /// # Panics
    /// If a sequence holds no memory, or its rows would leave a gap: our own bugs.
    fn begin(&mut self, batch: &Batch) -> Result<(), CacheError>;

    /// Writes keys and values of all rows into one layer, each at its position of its own sequence.
    fn append(&mut self, layer: usize, batch: &Batch, qkv: &[f32]);

    /// Attention of each row over positions 0 to its own, of its own sequence and no other. `scores` is scratch that may grow.
    fn attend(
        &self,
        pool: &Pool,
        config: &LlamaConfig,
        layer: usize,
        batch: &Batch,
        qkv: &[f32],
        scores: &mut Vec<f32>,
        attended: &mut [f32],
    );

    /// Keeps what the pass has written: every layer holds it now.
    fn commit(&mut self, batch: &Batch);
}
// ANCHOR_END: cache
