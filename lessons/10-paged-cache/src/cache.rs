//! Keys and values in blocks.

use crate::block::BlockId;
use crate::block_manager::BlockManager;
use crate::exercises::place::block_place;
use crate::together::attend_sequence;
use continuous_batching::batch::Batch;
use continuous_batching::cache::KvCache;
use generation::attention::{Attending, Unit, attend_heads};
use kv_cache::append::append_rows;
use kv_cache::memory::kv_bytes;
use kv_cache::place::{CacheOrder, Strides};
use lab::ledger;
use layout::aligned::Aligned;
use layout::pool::Pool;
use std::ops::Range;
use training::LlamaConfig;

// ANCHOR: cache
/// Lesson 08's cache with blocks in the place of slots: the blocks of a sequence may lie anywhere.
pub struct PagedCache {
    /// `[num_layers, num_kv_heads, num_blocks, block_size, head_dim]`: keys, turned by their positions. The blocks of
    /// one head are neighbours: a sequence then reads pieces that are a few KiB apart, and not all in the same few sets
    /// of the processor's cache.
    k: Aligned<f32>,
    /// Values, in the same order.
    v: Aligned<f32>,
    /// From one position of a block to the next, and from one key head to the next.
    strides: Strides,
    num_blocks: usize,
    block_size: usize,
    num_layers: usize,
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
}
// ANCHOR_END: cache

impl PagedCache {
    /// Memory for `num_blocks` blocks of `block_size` positions. Cost: two allocations, every page touched.
    pub fn new(config: &LlamaConfig, num_blocks: usize, block_size: usize) -> PagedCache {
        let positions = num_blocks * block_size;
        let numbers = config.num_layers * positions * config.kv_size();
        PagedCache {
            strides: CacheOrder::HeadMajor.strides(positions, config.num_kv_heads, config.head_dim),
            k: Aligned::zeros(numbers),
            v: Aligned::zeros(numbers),
            num_blocks,
            block_size,
            num_layers: config.num_layers,
            num_heads: config.num_heads,
            num_kv_heads: config.num_kv_heads,
            head_dim: config.head_dim,
        }
    }

    /// Bytes of keys and values that were allocated, used or not.
    pub fn bytes(&self) -> u64 {
        let positions = self.num_blocks * self.block_size;
        kv_bytes(
            self.num_layers,
            self.num_kv_heads,
            self.head_dim,
            positions,
            1,
            size_of::<f32>(),
        )
    }

    /// Overwrites everything that no request has written and that is not published: free blocks without a name, and the
    /// unwritten ends of held ones. For tests: an output that depends on such a number then shows it.
    pub fn overwrite_unused(&mut self, blocks: &BlockManager, value: f32) {
        for block in (0..blocks.allocator().num_blocks() as u32).map(BlockId) {
            let kept = blocks.kept_in(block) * self.head_dim;
            for layer in 0..self.num_layers {
                for numbers in self.heads(layer, block) {
                    self.k[numbers.clone()][kept..].fill(value);
                    self.v[numbers][kept..].fill(value);
                }
            }
        }
    }

    /// Where a key head of a layer stands, in keys and in values: all its blocks.
    fn head(&self, layer: usize, kv_head: usize) -> Range<usize> {
        let start = (layer * self.num_kv_heads + kv_head) * self.strides.head;
        start..start + self.strides.head
    }

    /// Where a block of a layer stands, head by head.
    fn heads(&self, layer: usize, block: BlockId) -> impl Iterator<Item = Range<usize>> + use<> {
        let len = self.block_size * self.head_dim;
        let (first, head) = (self.head(layer, 0).start, self.strides.head);
        let start = move |kv_head| first + kv_head * head + block.index() * len;
        (0..self.num_kv_heads).map(start).map(move |start| start..start + len)
    }
}

impl KvCache for PagedCache {
    fn copy(&mut self, from: u32, to: u32) {
        for layer in 0..self.num_layers {
            // A block is one piece of memory for each key head, not one in all.
            for (from, to) in self.heads(layer, BlockId(from)).zip(self.heads(layer, BlockId(to))) {
                self.k.copy_within(from.clone(), to.start);
                self.v.copy_within(from, to.start);
            }
        }
        ledger::count(|l| l.add("blocks_copied", 1));
    }

    fn append(&mut self, layer: usize, batch: &Batch, qkv: &[f32]) {
        let width = (self.num_heads + 2 * self.num_kv_heads) * self.head_dim;
        assert_eq!(qkv.len(), batch.num_rows() * width);
        let block_len = self.block_size * self.head_dim;
        for (index, sequence) in batch.sequences.iter().enumerate() {
            let table: &[BlockId] = bytemuck::cast_slice(batch.table(index));
            // Rows of a sequence that stand in the same block are neighbours in memory, so they are written in one
            // call.
            let mut row = sequence.first_row;
            while row < sequence.rows().end {
                let (block, place) = block_place(table, self.block_size, batch.positions[row]);
                // Up to the end of the block or of the rows, whichever comes first.
                let end = (row + self.block_size - place).min(sequence.rows().end);
                // From the block's place in the first head to the end of the last head.
                let start = self.head(layer, 0).start + block.index() * block_len;
                let end_of_layer = self.head(layer, self.num_kv_heads - 1).end;
                append_rows(
                    &qkv[row * width..end * width],
                    self.num_heads,
                    self.num_kv_heads,
                    self.head_dim,
                    place,
                    self.strides,
                    &mut self.k[start..end_of_layer],
                    &mut self.v[start..end_of_layer],
                );
                row = end;
            }
        }
        let rows = batch.num_rows();
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
        let context_len = |row: usize| batch.positions[row] + 1;
        let same_sequence = |a: &Attending<'_>, b: &Attending<'_>| batch.same_sequence(a.row, b.row);
        let attend = |unit: &mut Unit<'_>, scores: &mut [f32]| {
            let head = self.head(layer, unit.kv_head);
            let (k, v) = (&self.k[head.clone()], &self.v[head]);
            // A unit may hold rows of several sequences, and each sequence has a table of its own.
            for rows in unit.rows().chunk_by_mut(same_sequence) {
                let table = bytemuck::cast_slice(batch.table_of_row(rows[0].row));
                let (block_size, head_dim) = (self.block_size, self.head_dim);
                attend_sequence(rows, k, v, table, block_size, head_dim, scores);
            }
        };
        attend_heads(pool, config, qkv, &context_len, scores, attended, &attend);
    }
}
