//! Keys and values in slots: lesson 06's cache many times over, in one allocation.

use crate::batch::Batch;
use crate::cache::KvCache;
use crate::memory::{Admission, Memory};
use crate::request::{Request, SeqId};
use crate::slots::{SlotId, Slots};
use generation::attention::{KvView, attend_rows};
use kv_cache::CacheError;
use kv_cache::append::append_rows;
use kv_cache::memory::kv_bytes;
use kv_cache::place::{CacheOrder, Strides};
use lab::ledger;
use layout::aligned::Aligned;
use layout::pool::Pool;
use std::ops::Range;
use training::LlamaConfig;

// ANCHOR: slots
/// A fixed number of equal slots. Who holds one holds all of it, also the part that its text never reaches: that is the price of knowing at
/// admission that a request will run to its end.
pub struct SlotCache {
    /// Who holds what.
    slots: Slots,
    /// `[num_layers, num_slots, num_kv_heads, capacity, head_dim]`: keys, turned by their positions.
    k: Aligned<f32>,
    /// The same for values.
    v: Aligned<f32>,
    /// Steps through one slot of one layer.
    strides: Strides,
    /// `[rows]` of the pass in progress: the slot of each row; written by `begin`.
    row_slots: Vec<SlotId>,
    num_layers: usize,
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
}
// ANCHOR_END: slots

impl SlotCache {
    /// `num_slots` free slots for `capacity` positions each. Cost: two allocations, every page touched; none after that, as long as no pass has
    /// more rows than any before it.
    pub fn new(config: &LlamaConfig, num_slots: usize, capacity: usize) -> SlotCache {
        let numbers = config.num_layers * num_slots * capacity * config.kv_size();
        SlotCache {
            slots: Slots::new(num_slots, capacity),
            k: Aligned::zeros(numbers),
            v: Aligned::zeros(numbers),
            strides: CacheOrder::HeadMajor.strides(capacity, config.num_kv_heads, config.head_dim),
            row_slots: Vec::with_capacity(num_slots),
            num_layers: config.num_layers,
            num_heads: config.num_heads,
            num_kv_heads: config.num_kv_heads,
            head_dim: config.head_dim,
        }
    }

    /// Who holds what.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Bytes of keys and values, used or not: what was allocated.
    pub fn bytes(&self) -> u64 {
        let (num_slots, capacity) = (self.slots.all().len(), self.slots.capacity());
        kv_bytes(
            self.num_layers,
            self.num_kv_heads,
            self.head_dim,
            capacity,
            num_slots,
            size_of::<f32>(),
        )
    }

    /// Overwrites everything that no request has written: free slots, and held ones behind their length. For tests: whoever reads it, shows it.
    pub fn overwrite_unused(&mut self, value: f32) {
        for layer in 0..self.num_layers {
            for slot in (0..self.slots.all().len()).map(SlotId) {
                let numbers = self.numbers(layer, slot);
                let unused = self.slots.len(slot) * self.head_dim;
                for part in [&mut self.k[numbers.clone()], &mut self.v[numbers]] {
                    for head in part.chunks_exact_mut(self.strides.head) {
                        head[unused..].fill(value);
                    }
                }
            }
        }
    }

    /// Where a slot's part of a layer stands, in keys and in values.
    fn numbers(&self, layer: usize, slot: SlotId) -> Range<usize> {
        let len = self.num_kv_heads * self.strides.head;
        let place = layer * self.slots.all().len() + slot.0;
        place * len..(place + 1) * len
    }

    /// Keys and values of one head of a slot, as a row sees them that sees `context_len` positions.
    fn view(&self, layer: usize, slot: SlotId, kv_head: usize, context_len: usize) -> KvView<'_> {
        let numbers = self.numbers(layer, slot);
        let head = numbers.start + kv_head * self.strides.head;
        KvView {
            k: &self.k[head..numbers.end],
            v: &self.v[head..numbers.end],
            kv_stride: self.strides.position,
            context_len,
        }
    }
}

impl KvCache for SlotCache {
    fn begin(&mut self, batch: &Batch) -> Result<(), CacheError> {
        let capacity = self.slots.capacity();
        for sequence in &batch.sequences {
            let end = batch.positions[sequence.last_row()] + 1;
            if end > capacity {
                return Err(CacheError::Full {
                    len: end - sequence.num_rows,
                    new: sequence.num_rows,
                    capacity,
                });
            }
        }
        self.row_slots.clear();
        for sequence in &batch.sequences {
            let first_position = batch.positions[sequence.first_row];
            let Some(slot) = self.slots.find(sequence.id) else {
                panic!("{} has no slot", sequence.id);
            };
            let len = self.slots.len(slot);
            assert!(
                first_position <= len,
                "{}: position {first_position} after {len} stored ones leaves a gap",
                sequence.id
            );
            self.slots.set_len(slot, first_position);
            self.row_slots.extend(std::iter::repeat_n(slot, sequence.num_rows));
        }
        Ok(())
    }

    fn append(&mut self, layer: usize, batch: &Batch, qkv: &[f32]) {
        assert_eq!(self.row_slots.len(), batch.num_rows(), "begin comes first");
        let width = (self.num_heads + 2 * self.num_kv_heads) * self.head_dim;
        assert_eq!(qkv.len(), batch.num_rows() * width);
        for sequence in &batch.sequences {
            let rows = sequence.rows();
            let numbers = self.numbers(layer, self.row_slots[rows.start]);
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
        let bytes = kv_bytes(
            1,
            self.num_kv_heads,
            self.head_dim,
            batch.num_rows(),
            1,
            size_of::<f32>(),
        );
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
        let view = |row: usize, kv_head| self.view(layer, self.row_slots[row], kv_head, batch.positions[row] + 1);
        attend_rows(pool, config, qkv, &view, scores, attended);
    }

    fn commit(&mut self, batch: &Batch) {
        for sequence in &batch.sequences {
            let slot = self.row_slots[sequence.first_row];
            self.slots.set_len(slot, batch.positions[sequence.last_row()] + 1);
        }
    }
}

/// The numbers are those of [`Slots`].
impl Memory for SlotCache {
    fn max_seq_len(&self) -> usize {
        self.slots.max_seq_len()
    }

    fn admit(&mut self, request: &mut Request) -> Admission {
        self.slots.admit(request)
    }

    fn release(&mut self, id: SeqId) -> bool {
        self.slots.release(id)
    }

    fn holds(&self, id: SeqId) -> bool {
        self.slots.holds(id)
    }

    fn num_holders(&self) -> usize {
        self.slots.num_holders()
    }

    fn slot_of(&self, id: SeqId) -> Option<SlotId> {
        self.slots.slot_of(id)
    }

    fn check_invariants(&self) {
        self.slots.check_invariants();
    }
}
