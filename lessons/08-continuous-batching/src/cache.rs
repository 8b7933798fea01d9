//! Memory as the forward pass sees it: floats, at the places that a batch names.

use crate::batch::Batch;
use generation::attention::attend_rows;
use kv_cache::cache::ContiguousCache;
use layout::pool::Pool;
use training::LlamaConfig;

// ANCHOR: cache
/// Keys and values of many sequences, as the forward pass sees them: the pass hands over new ones, and asks for
/// attention over all positions that a row may see. The batch says where a sequence lies ([`Batch::table`]);
/// [`crate::memory::Memory`] chose the place before the pass.
///
/// One pass: [`KvCache::copy`] for each copy of the batch; then for each layer, in order, [`KvCache::append`] and
/// [`KvCache::attend`]. Shapes: `qkv` `[rows, (num_heads + 2 num_kv_heads) head_dim]`, `attended`
/// `[rows, num_heads head_dim]`.
pub trait KvCache {
    /// Copies one piece of memory, in all layers, over another one.
    fn copy(&mut self, from: u32, to: u32);

    /// Writes keys and values of all rows into one layer, each at its position of its own sequence.
    ///
    /// # Panics
    /// If a position lies outside the memory that the batch names: a bug of the workbook.
    fn append(&mut self, layer: usize, batch: &Batch, qkv: &[f32]);

    /// Attention of each row over positions 0 to its own, of its own sequence only. `scores` is scratch that may grow.
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
}
// ANCHOR_END: cache

/// Lesson 06's cache behind the same trait: one piece of memory, number 0, that holds one sequence. With it the ragged
/// pass can be compared with single runs.
impl KvCache for ContiguousCache {
    fn copy(&mut self, from: u32, to: u32) {
        // A copy of the only piece over itself changes nothing.
        assert_eq!((from, to), (0, 0), "this cache has one piece");
    }

    fn append(&mut self, layer: usize, batch: &Batch, qkv: &[f32]) {
        assert_eq!(batch.sequences.len(), 1, "this cache holds one sequence");
        if layer == 0 {
            // Once a pass, in the first layer: what the pass before wrote is kept up to the first new position.
            let first = batch.positions[0];
            self.resume_at(first).expect("positions of a sequence have no gap");
        }
        ContiguousCache::append(self, layer, qkv);
    }

    fn attend(
        &self,
        pool: &Pool,
        config: &LlamaConfig,
        layer: usize,
        batch: &Batch,
        qkv: &[f32],
        scores: &mut Vec<f32>,
        attended: &mut [f32],
    ) {
        let view = |row: usize, kv_head| self.view(layer, kv_head, batch.positions[row] + 1);
        attend_rows(pool, config, qkv, &view, scores, attended);
    }
}
