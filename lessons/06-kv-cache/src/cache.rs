//! The cache: keys and values of one sequence, for all layers, allocated once.
//!
//! ```text
//! pass over new rows:   for each layer: append(layer, qkv);  attend over view(layer, head, context_len)
//!                       advance(rows)
//! ```
//!
//! Positions below `len` are kept. During a pass each layer writes its part of the new positions behind `len`, and
//! attention already reads them. The write index `len` moves once, after the last layer. If a pass stops halfway, its
//! positions are overwritten by the next one.
//!
//! ```text
//! positions   0 ..... len          len + rows ............. capacity
//!             kept    new in this pass          not written, or left over and never read
//! ```

use crate::append::append_rows;
use crate::error::CacheError;
use crate::memory::kv_bytes;
pub use crate::place::CacheOrder;
use crate::place::Strides;
use generation::attention::KvView;
use lab::ledger;
use layout::aligned::Aligned;
use std::ops::Range;
use training::LlamaConfig;

// ANCHOR: cache
/// Keys and values of one sequence.
pub struct ContiguousCache {
    /// `[num_layers]` times one layer in `order`: keys, already turned by their positions.
    k: Aligned<f32>,
    /// The values, in the same shape.
    v: Aligned<f32>,
    order: CacheOrder,
    /// Steps through one layer; they follow from `order`.
    strides: Strides,
    /// The write index: number of positions that all layers hold.
    len: usize,
    /// Number of positions behind `len` that the current pass writes.
    rows_in_pass: usize,
    /// Number of positions that fit.
    capacity: usize,
    num_layers: usize,
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
}
// ANCHOR_END: cache

impl ContiguousCache {
    /// An empty cache for `capacity` positions in the default order. Cost: two allocations, every page touched; none
    /// after that.
    ///
    /// # Panics
    /// The process is aborted if the machine has too little memory: [`kv_bytes`] says how much a cache takes.
    pub fn new(config: &LlamaConfig, capacity: usize) -> ContiguousCache {
        ContiguousCache::with_order(config, capacity, CacheOrder::default())
    }

    /// As [`ContiguousCache::new`], in a chosen order.
    pub fn with_order(config: &LlamaConfig, capacity: usize, order: CacheOrder) -> ContiguousCache {
        let numbers = config.num_layers * capacity * config.kv_size();
        ContiguousCache {
            k: Aligned::zeros(numbers),
            v: Aligned::zeros(numbers),
            order,
            strides: order.strides(capacity, config.num_kv_heads, config.head_dim),
            len: 0,
            rows_in_pass: 0,
            capacity,
            num_layers: config.num_layers,
            num_heads: config.num_heads,
            num_kv_heads: config.num_kv_heads,
            head_dim: config.head_dim,
        }
    }

    /// Number of positions held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no position is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of positions that fit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The order of its numbers.
    pub fn order(&self) -> CacheOrder {
        self.order
    }

    /// The steps through one layer.
    pub fn strides(&self) -> Strides {
        self.strides
    }

    /// Allocated bytes of keys and values, used or not.
    pub fn bytes(&self) -> u64 {
        let (layers, heads) = (self.num_layers, self.num_kv_heads);
        kv_bytes(layers, heads, self.head_dim, self.capacity, 1, size_of::<f32>())
    }

    /// Checks that `rows` more positions fit. A pass calls it before its first layer, so that it can not fail halfway.
    ///
    /// # Errors
    /// [`CacheError::Full`].
    pub fn check_room(&self, rows: usize) -> Result<(), CacheError> {
        match rows <= self.capacity - self.len {
            true => Ok(()),
            false => Err(CacheError::Full {
                len: self.len,
                new: rows,
                capacity: self.capacity,
            }),
        }
    }

    /// Writes keys and values of new rows into one layer, behind the positions that are held; see [`append_rows`]. The
    /// write index stays until [`ContiguousCache::advance`]. Shape: `qkv`
    /// `[rows, (num_heads + 2 num_kv_heads) head_dim]`.
    ///
    /// # Panics
    /// If there is no such layer, or the rows do not fit: see [`ContiguousCache::check_room`].
    pub fn append(&mut self, layer: usize, qkv: &[f32]) {
        let width = (self.num_heads + 2 * self.num_kv_heads) * self.head_dim;
        let rows = qkv.len() / width;
        assert_eq!(qkv.len(), rows * width, "whole rows of this model");
        assert!(self.len + rows <= self.capacity, "the room was checked");
        let numbers = self.numbers_of(layer);
        append_rows(
            qkv,
            self.num_heads,
            self.num_kv_heads,
            self.head_dim,
            self.len,
            self.strides,
            &mut self.k[numbers.clone()],
            &mut self.v[numbers],
        );
        self.rows_in_pass = rows;
        let bytes = kv_bytes(1, self.num_kv_heads, self.head_dim, rows, 1, 4);
        ledger::count(|l| l.add("kv_bytes_written", bytes));
    }

    /// Moves the write index over the `rows` positions that every layer has written.
    ///
    /// # Panics
    /// If another number of rows was appended.
    pub fn advance(&mut self, rows: usize) {
        assert_eq!(rows, self.rows_in_pass, "as many rows as were appended");
        self.len += rows;
        self.rows_in_pass = 0;
    }

    // ANCHOR: view
    /// Keys and values of one head, from position 0 up to a row that sees `context_len` positions. Nothing is copied: a
    /// view is two borrowed slices, a stride and a length.
    ///
    /// # Panics
    /// If there is no such head, or the view would show a position that is not written.
    pub fn view(&self, layer: usize, kv_head: usize, context_len: usize) -> KvView<'_> {
        assert!(kv_head < self.num_kv_heads);
        assert!(context_len <= self.len + self.rows_in_pass);
        let head = layer * self.layer_len() + kv_head * self.strides.head;
        let layer_end = (layer + 1) * self.layer_len();
        KvView {
            k: &self.k[head..layer_end],
            v: &self.v[head..layer_end],
            kv_stride: self.strides.position,
            context_len,
        }
    }
    // ANCHOR_END: view

    /// All numbers of one layer, used or not: keys, then values. Shape: `[capacity, num_kv_heads, head_dim]` in the
    /// cache's order. For experiments that read more than a view shows.
    pub fn layer(&self, layer: usize) -> [&[f32]; 2] {
        let numbers = self.numbers_of(layer);
        [&self.k[numbers.clone()], &self.v[numbers]]
    }

    // ANCHOR: truncate
    /// Forgets all positions from `len` on. Cost: one number is written; the old keys and values are overwritten later.
    ///
    /// # Errors
    /// [`CacheError::TruncateBeyondLen`] if fewer positions are held; nothing changes then.
    pub fn truncate(&mut self, len: usize) -> Result<(), CacheError> {
        if len > self.len {
            return Err(CacheError::TruncateBeyondLen { len, held: self.len });
        }
        (self.len, self.rows_in_pass) = (len, 0);
        Ok(())
    }

    /// Moves the write index over the positions that the last pass wrote, and truncates to `first` positions, so that
    /// the next pass begins there.
    ///
    /// # Errors
    /// [`CacheError::TruncateBeyondLen`] if fewer positions are held.
    pub fn resume_at(&mut self, first: usize) -> Result<(), CacheError> {
        self.advance(self.rows_in_pass);
        self.truncate(first)
    }

    /// Forgets all positions and keeps the memory.
    pub fn clear(&mut self) {
        (self.len, self.rows_in_pass) = (0, 0);
    }
    // ANCHOR_END: truncate

    /// Number of keys' numbers in one layer.
    fn layer_len(&self) -> usize {
        self.capacity * self.num_kv_heads * self.head_dim
    }

    /// Indices of one layer's numbers in `k` and in `v`.
    fn numbers_of(&self, layer: usize) -> Range<usize> {
        layer * self.layer_len()..(layer + 1) * self.layer_len()
    }
}
