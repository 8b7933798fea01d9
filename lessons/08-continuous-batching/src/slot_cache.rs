//! Keys and values in slots: lesson 06's cache many times over, in one allocation.

use crate::batch::Batch;
use crate::cache::KvCache;
use crate::slots::Slots;
use generation::attention::{KvView, attend_rows};
use kv_cache::append::append_rows;
use kv_cache::memory::kv_bytes;
use kv_cache::place::{CacheOrder, Strides};
use lab::ledger;
use layout::aligned::Aligned;
use layout::pool::Pool;
use std::ops::Range;
use training::LlamaConfig;

// ANCHOR: slots
/// The floats of a fixed number of equal slots. A request holds its whole slot, also the part that its text never
/// reaches: that is the price of knowing at admission that the request can run to its end.
pub struct SlotCache {
    /// `[num_layers, num_slots, num_kv_heads, capacity, head_dim]`: keys, turned by their positions.
    k: Aligned<f32>,
    /// Values, in the same order.
    v: Aligned<f32>,
    /// Distances from head to head and from position to position in one slot of one layer.
    strides: Strides,
    num_slots: usize,
    capacity: usize,
    num_layers: usize,
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
}
// ANCHOR_END: slots

impl SlotCache {
    /// Memory for `num_slots` slots of `capacity` positions each. Cost: two allocations, every page touched; none after
    /// that.
    pub fn new(config: &LlamaConfig, num_slots: usize, capacity: usize) -> SlotCache {
        // Keys and values have the same size, so one number serves both.
        let numbers = config.num_layers * num_slots * capacity * config.kv_size();
        SlotCache {
            k: Aligned::zeros(numbers),
            v: Aligned::zeros(numbers),
            // Per head, as in lesson 06: a row of attention reads one head's positions in sequence.
            strides: CacheOrder::HeadMajor.strides(capacity, config.num_kv_heads, config.head_dim),
            num_slots,
            capacity,
            num_layers: config.num_layers,
            num_heads: config.num_heads,
            num_kv_heads: config.num_kv_heads,
            head_dim: config.head_dim,
        }
    }

    /// Bytes of keys and values that were allocated, used or not.
    pub fn bytes(&self) -> u64 {
        let (layers, heads) = (self.num_layers, self.num_kv_heads);
        kv_bytes(
            layers,
            heads,
            self.head_dim,
            self.capacity,
            self.num_slots,
            size_of::<f32>(),
        )
    }

    /// Overwrites everything that no request reads: free slots, and held ones behind their length. For tests: an output
    /// that depends on such a number then shows it.
    pub fn overwrite_unused(&mut self, slots: &Slots, value: f32) {
        for layer in 0..self.num_layers {
            for slot in 0..self.num_slots {
                let numbers = self.numbers(layer, slot as u32);
                // Between two steps the positions below the length were written by the slot's owner; a free slot has
                // length 0.
                let used = slots.len(crate::slots::SlotId(slot)) * self.head_dim;
                // The positions of a head lie together, so the unused ones are its end.
                for part in [&mut self.k[numbers.clone()], &mut self.v[numbers]] {
                    for head in part.chunks_exact_mut(self.strides.head) {
                        head[used..].fill(value);
                    }
                }
            }
        }
    }

    /// The range of a slot's part of a layer, in `k` and in `v`.
    fn numbers(&self, layer: usize, slot: u32) -> Range<usize> {
        // Layers are outermost: one layer's slots lie together, as one layer is computed at a time.
        let len = self.num_kv_heads * self.strides.head;
        let index = layer * self.num_slots + slot as usize;
        index * len..(index + 1) * len
    }
}

impl KvCache for SlotCache {
    fn copy(&mut self, from: u32, to: u32) {
        for layer in 0..self.num_layers {
            // Used or not, all positions are copied: the cache does not know lengths.
            let (from, to) = (self.numbers(layer, from), self.numbers(layer, to));
            self.k.copy_within(from.clone(), to.start);
            self.v.copy_within(from, to.start);
        }
    }

    fn append(&mut self, layer: usize, batch: &Batch, qkv: &[f32]) {
        let width = (self.num_heads + 2 * self.num_kv_heads) * self.head_dim;
        // A buffer of another shape would be read as rows of other sequences.
        assert_eq!(qkv.len(), batch.num_rows() * width);
        for (index, sequence) in batch.sequences.iter().enumerate() {
            let rows = sequence.rows();
            // With slots the table of a sequence is one number.
            let numbers = self.numbers(layer, batch.table(index)[0]);
            append_rows(
                &qkv[rows.start * width..rows.end * width],
                self.num_heads,
                self.num_kv_heads,
                self.head_dim,
                batch.positions[rows.start],
                self.strides,
                &mut self.k[numbers.clone()],
                &mut self.v[numbers],
            );
        }
        let rows = batch.num_rows();
        // Counted from shapes, once for a layer, and not in the loop.
        let bytes = kv_bytes(1, self.num_kv_heads, self.head_dim, rows, 1, size_of::<f32>());
        ledger::count(|l| l.add("kv_bytes_written", bytes));
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
        let view = |row: usize, kv_head: usize| {
            let numbers = self.numbers(layer, batch.table_of_row(row)[0]);
            // The view begins at position 0 of this head; its end is the end of the slot, and `context_len` limits what
            // is read.
            let head = numbers.start + kv_head * self.strides.head;
            KvView {
                k: &self.k[head..numbers.end],
                v: &self.v[head..numbers.end],
                kv_stride: self.strides.position,
                // A row sees its own position and those before it, and nothing that an earlier owner left behind.
                context_len: batch.positions[row] + 1,
            }
        };
        attend_rows(pool, config, qkv, &view, scores, attended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys and values of one slot, in all layers, are those of the other one afterwards; the slot between them stays
    /// as it was.
    #[test]
    fn a_copy_takes_over_all_layers_of_a_slot_and_nothing_else() {
        let config = LlamaConfig {
            num_layers: 2,
            num_kv_heads: 2,
            head_dim: 4,
            ..LlamaConfig::stories()
        };
        let mut cache = SlotCache::new(&config, 3, 5);
        for (index, (k, v)) in cache.k.iter_mut().zip(&mut *cache.v).enumerate() {
            (*k, *v) = (index as f32, -(index as f32));
        }
        let before = cache.k.to_vec();
        cache.copy(2, 0);
        for layer in 0..2 {
            let [first, second, third] = [0, 1, 2].map(|slot| cache.numbers(layer, slot));
            assert_eq!(cache.k[first.clone()], before[third.clone()], "layer {layer}");
            assert_eq!(cache.v[first], cache.v[third.clone()], "layer {layer}");
            for kept in [second, third] {
                assert_eq!(cache.k[kept.clone()], before[kept], "layer {layer}");
            }
        }
    }
}
