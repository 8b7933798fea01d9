//! Keys and values in blocks.

use crate::block::BlockId;
use crate::pages::Pages;
use crate::place::block_place;
use crate::together::attend_sequence;
use continuous_batching::batch::Batch;
use continuous_batching::cache::KvCache;
use continuous_batching::memory::{Admission, Memory};
use continuous_batching::request::{Request, SeqId};
use generation::attention::{Attending, Unit, attend_heads};
use kv_cache::CacheError;
use kv_cache::append::append_rows;
use kv_cache::memory::kv_bytes;
use kv_cache::place::{CacheOrder, Strides};
use lab::ledger;
use layout::aligned::Aligned;
use layout::pool::Pool;
use std::ops::Range;
use training::{LlamaConfig, TokenId};

// ANCHOR: cache
/// Lesson 08's cache with blocks in the place of slots: a sequence holds as many as its text needs, wherever they lie.
pub struct PagedCache {
    /// Who holds what.
    pages: Pages,
    /// `[num_layers, num_kv_heads, num_blocks, block_size, head_dim]`: keys, turned by their positions. The blocks of one head are neighbours: a
    /// sequence then reads pieces that are a few KiB apart, and not all in the same few sets of the processor's cache.
    k: Aligned<f32>,
    /// The same for values.
    v: Aligned<f32>,
    /// From one position of a block to the next, and from one key head to the next.
    strides: Strides,
    /// Scratch: blocks that a pass copies before it writes, as (from, to).
    copied: Vec<(BlockId, BlockId)>,
    num_layers: usize,
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
}
// ANCHOR_END: cache

impl PagedCache {
    /// Memory for the blocks of `pages`. Cost: two allocations, every page touched.
    pub fn new(config: &LlamaConfig, pages: Pages) -> PagedCache {
        let positions = pages.allocator().num_blocks() * pages.block_size();
        let numbers = config.num_layers * positions * config.kv_size();
        PagedCache {
            strides: CacheOrder::HeadMajor.strides(positions, config.num_kv_heads, config.head_dim),
            pages,
            k: Aligned::zeros(numbers),
            v: Aligned::zeros(numbers),
            copied: Vec::new(),
            num_layers: config.num_layers,
            num_heads: config.num_heads,
            num_kv_heads: config.num_kv_heads,
            head_dim: config.head_dim,
        }
    }

    /// Who holds what.
    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Who holds what, to say what a request wants ([`Pages::wish`]).
    pub fn pages_mut(&mut self) -> &mut Pages {
        &mut self.pages
    }

    /// Bytes of keys and values, used or not: what was allocated.
    pub fn bytes(&self) -> u64 {
        let positions = self.pages.allocator().num_blocks() * self.pages.block_size();
        kv_bytes(
            self.num_layers,
            self.num_kv_heads,
            self.head_dim,
            positions,
            1,
            size_of::<f32>(),
        )
    }

    /// Copies keys and values of all positions that a sequence keeps, behind what stands in `out`: for each layer, block and head all keys, then all
    /// values.
    ///
    /// # Panics
    /// If the sequence holds nothing.
    pub fn read_out(&self, id: SeqId, out: &mut Vec<f32>) {
        let table = self.pages.table(id).expect("the sequence holds blocks");
        let numbers = table.len * self.num_kv_heads * self.head_dim;
        out.reserve_exact(2 * self.num_layers * numbers);
        for layer in 0..self.num_layers {
            for (len, block) in self.kept_of(table.len).zip(&table.blocks) {
                for head in self.heads(layer, *block) {
                    let kept = head.start..head.start + len;
                    out.extend_from_slice(&self.k[kept.clone()]);
                    out.extend_from_slice(&self.v[kept]);
                }
            }
        }
    }

    /// Copies back what [`PagedCache::read_out`] has copied of a sequence with these `tokens`. Blocks that it shares by their content already are
    /// left as they are.
    ///
    /// # Panics
    /// If the sequence was not promised blocks for all of them, or `from` has another length.
    pub fn write_in(&mut self, id: SeqId, tokens: &[TokenId], mut from: &[f32]) {
        let kept = self.pages.begin_copy(id, tokens.len());
        let first = kept / self.pages.block_size;
        let table = self.pages.table(id).expect("the sequence holds blocks");
        let blocks = table.blocks.clone();
        for layer in 0..self.num_layers {
            let pieces = self.kept_of(tokens.len()).zip(&blocks).enumerate();
            for (index, (len, block)) in pieces {
                for head in self.heads(layer, *block) {
                    let (k, v);
                    (k, from) = from.split_at(len);
                    (v, from) = from.split_at(len);
                    if index >= first {
                        let kept = head.start..head.start + len;
                        self.k[kept.clone()].copy_from_slice(k);
                        self.v[kept].copy_from_slice(v);
                    }
                }
            }
        }
        assert!(from.is_empty(), "more was copied out than {} tokens", tokens.len());
        self.pages.keep_copied(id, tokens);
    }

    /// Of each block of a text of `len` positions, how many numbers of one head are kept.
    fn kept_of(&self, len: usize) -> impl Iterator<Item = usize> + use<> {
        let (block_size, head_dim) = (self.pages.block_size, self.head_dim);
        (0..len)
            .step_by(block_size)
            .map(move |first| block_size.min(len - first) * head_dim)
    }

    /// Overwrites everything that no request has written and nobody may find: free blocks without a name, and held ones behind what is kept. For
    /// tests: whoever reads it, shows it.
    pub fn overwrite_unused(&mut self, value: f32) {
        for block in (0..self.pages.allocator().num_blocks() as u32).map(BlockId) {
            let kept = self.pages.kept_in(block) * self.head_dim;
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
        let len = self.pages.block_size * self.head_dim;
        let (first, head) = (self.head(layer, 0).start, self.strides.head);
        let start = move |kv_head| first + kv_head * head + block.index() * len;
        (0..self.num_kv_heads).map(start).map(move |start| start..start + len)
    }

    /// Copies blocks, in all layers.
    fn copy_blocks(&mut self) {
        let copied = std::mem::take(&mut self.copied);
        for (from, to) in &copied {
            for layer in 0..self.num_layers {
                for (from, to) in self.heads(layer, *from).zip(self.heads(layer, *to)) {
                    self.k.copy_within(from.clone(), to.start);
                    self.v.copy_within(from, to.start);
                }
            }
        }
        ledger::count(|l| l.add("blocks_copied", copied.len() as u64));
        // Its room is kept.
        self.copied = copied;
        self.copied.clear();
    }
}

impl KvCache for PagedCache {
    fn begin(&mut self, batch: &Batch) -> Result<(), CacheError> {
        self.pages.begin(batch, &mut self.copied)?;
        self.copy_blocks();
        Ok(())
    }

    fn append(&mut self, layer: usize, batch: &Batch, qkv: &[f32]) {
        assert_eq!(self.pages.num_rows(), batch.num_rows(), "begin comes first");
        let width = (self.num_heads + 2 * self.num_kv_heads) * self.head_dim;
        assert_eq!(qkv.len(), batch.num_rows() * width);
        let block_len = self.pages.block_size * self.head_dim;
        for sequence in &batch.sequences {
            // The rows of a sequence, cut where a block ends.
            let mut row = sequence.first_row;
            while row < sequence.rows().end {
                let table = &self.pages.table_of_row(row).blocks;
                let position = batch.positions[row];
                let (block, place) = block_place(table, self.pages.block_size, position);
                let end = (row + self.pages.block_size - place).min(sequence.rows().end);
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
        let of_one = |a: &Attending<'_>, b: &Attending<'_>| self.pages.are_of_one(a.row, b.row);
        let attend = |unit: &mut Unit<'_>, scores: &mut [f32]| {
            let head = self.head(layer, unit.kv_head);
            let (k, v) = (&self.k[head.clone()], &self.v[head]);
            for rows in unit.rows().chunk_by_mut(of_one) {
                let table = &self.pages.table_of_row(rows[0].row).blocks;
                let (block_size, head_dim) = (self.pages.block_size, self.head_dim);
                attend_sequence(rows, k, v, table, block_size, head_dim, scores);
            }
        };
        attend_heads(pool, config, qkv, &context_len, scores, attended, &attend);
    }

    fn commit(&mut self, batch: &Batch) {
        self.pages.commit(batch);
    }
}

/// The numbers are those of [`Pages`].
impl Memory for PagedCache {
    fn max_seq_len(&self) -> usize {
        self.pages.max_seq_len()
    }

    fn admit(&mut self, request: &mut Request) -> Admission {
        self.pages.admit(request)
    }

    fn release(&mut self, id: SeqId) -> bool {
        self.pages.release(id)
    }

    fn holds(&self, id: SeqId) -> bool {
        self.pages.holds(id)
    }

    fn num_holders(&self) -> usize {
        self.pages.num_holders()
    }

    fn check_invariants(&self) {
        self.pages.check_invariants();
    }
}
