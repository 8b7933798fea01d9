//! The cache: keys and values of one sequence, for all layers, allocated once.
//!
//! ```text
//! pass over new rows:   for each layer: append(layer, qkv);  attend over view(layer, head, context_len)
//!                       advance(rows)
//! ```
//!
//! Positions below `len` are kept. During a pass each layer writes its part of the new positions behind `len`, and attention already sees
//! them. The write index moves once, when all layers are done, so a pass that never ends leaves nothing behind that anyone would read.
//!
//! ```text
//! positions   0 ..... len          len + rows ............. capacity
//!             kept    new in this pass          never written, or left over and never read
//! ```

use crate::append::append_rows;
use crate::error::CacheError;
use crate::memory::kv_bytes;
pub use crate::place::CacheOrder;
use crate::place::Strides;
use generation::attention::KvView;
use lab::ledger;
use layout::aligned::Aligned;
use training::LlamaConfig;

// ANCHOR: cache
/// Keys and values of one sequence.
pub struct ContiguousCache {
    /// `[num_layers]` times one layer in `order`: keys, turned by their positions.
    k: Aligned<f32>,
    /// The same for values.
    v: Aligned<f32>,
    order: CacheOrder,
    /// Steps through one layer; they follow from `order`.
    strides: Strides,
    /// The write index: positions that all layers hold.
    len: usize,
    /// Positions behind `len` that the pass in progress writes.
    rows_in_pass: usize,
    capacity: usize,
    num_layers: usize,
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
}
// ANCHOR_END: cache

impl ContiguousCache {
    /// An empty cache for `capacity` positions in the default order. Cost: two allocations, every page touched; none after that.
    ///
    /// # Panics
    /// Where the machine has not the memory the process is aborted: [`kv_bytes`] says how much it takes.
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

    /// Positions held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no position is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Most positions that fit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The order that it was made with.
    pub fn order(&self) -> CacheOrder {
        self.order
    }

    /// Bytes of keys and values, used or not: what was allocated.
    pub fn bytes(&self) -> u64 {
        kv_bytes(
            self.num_layers,
            self.num_kv_heads,
            self.head_dim,
            self.capacity,
            1,
            size_of::<f32>(),
        )
    }

    /// Whether `rows` more positions fit. To be asked before a pass begins, so that a pass that begins also ends.
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

    /// Writes keys and values of new rows into one layer, behind the positions that are held; see [`append_rows`]. The write index stays:
    /// [`ContiguousCache::advance`] moves it when every layer has its part. Shape: `qkv` `[rows, (num_heads + 2 num_kv_heads) head_dim]`.
    ///
    /// # Panics
    /// If there is no such layer, or the rows do not fit: [`ContiguousCache::check_room`] comes first.
    pub fn append(&mut self, layer: usize, qkv: &[f32]) {
        let width = (self.num_heads + 2 * self.num_kv_heads) * self.head_dim;
        let rows = qkv.len() / width;
        assert_eq!(qkv.len(), rows * width, "whole rows of this model");
        assert!(self.len + rows <= self.capacity, "the room was checked");
        let numbers = layer * self.layer_len()..(layer + 1) * self.layer_len();
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

    /// Keeps the `rows` positions that a pass has written: all layers hold them now.
    ///
    /// # Panics
    /// If another number of rows was appended.
    pub fn advance(&mut self, rows: usize) {
        assert_eq!(rows, self.rows_in_pass, "as many rows as were appended");
        self.len += rows;
        self.rows_in_pass = 0;
    }

    // ANCHOR: view
    /// Keys and values of one head, from position 0 up to a row that sees `context_len` positions. Nothing is copied: a view is two
    /// borrowed slices, a stride and a length.
    ///
    /// # Panics
    /// If there is no such head, or a position would be seen that no layer has written.
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

    /// All numbers of one layer, used or not: keys, then values. Shape: `[capacity, num_kv_heads, head_dim]` in the cache's order. For the
    /// experiments that read more than a view shows.
    pub fn layer(&self, layer: usize) -> [&[f32]; 2] {
        let numbers = layer * self.layer_len()..(layer + 1) * self.layer_len();
        [&self.k[numbers.clone()], &self.v[numbers]]
    }

    /// The steps through one layer.
    pub fn strides(&self) -> Strides {
        self.strides
    }

    // ANCHOR: truncate
    /// Forgets all positions from `len` on. The text goes on from there as if they had never been. Cost: one number is written.
    ///
    /// # Errors
    /// [`CacheError::TruncateBeyondLen`] where fewer positions are held; nothing changes then.
    pub fn truncate(&mut self, len: usize) -> Result<(), CacheError> {
        if len > self.len {
            return Err(CacheError::TruncateBeyondLen { len, held: self.len });
        }
        (self.len, self.rows_in_pass) = (len, 0);
        Ok(())
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        (self.len, self.rows_in_pass) = (0, 0);
    }
    // ANCHOR_END: truncate

    /// Numbers of one layer's keys.
    fn layer_len(&self) -> usize {
        self.capacity * self.num_kv_heads * self.head_dim
    }
}
