//! The oracle notices what it is there for: caches that are right but for one slip, each a fault that has been seen somewhere.

use continuous_batching::oracle::play::{Interrupted, Planned, play};
use continuous_batching::oracle::{Oracle, config, limits};
use continuous_batching::{
    Admission, Batch, BatchSequence, Engine, KvCache, Memory, Request, SeqId, SlotCache, SlotId,
};
use kv_cache::CacheError;
use layout::pool::Pool;
use training::{LlamaConfig, TokenId};

const MAX_SEQ_LEN: usize = 16;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    Nothing,
    /// A row sees one position too many.
    MaskTooLong,
    /// A row does not see itself.
    MaskTooShort,
    /// Keys and values are stored one position too late.
    WrongPosition,
    /// The second layer is never written.
    LayerForgotten,
    /// Two rows of a pass change places.
    RowsSwapped,
    /// Keys and values of one request are written to another one's slot.
    WrongSlot,
    /// A decoded token is not kept.
    DecodeNotKept,
    /// A request finds what its slot's last owner left.
    StaleContent,
}

struct Slippery {
    inner: SlotCache,
    slip: Slip,
    /// The batch as the cache is told it.
    told: Batch,
}

impl Slippery {
    /// The first sequence and the last one get each other's slot, where that leaves no gap: an assertion would notice a gap.
    fn with_slots_exchanged(&self, batch: &Batch) -> Batch {
        let mut exchanged = batch.clone();
        let last = batch.sequences.len() - 1;
        exchanged.sequences[0].id = batch.sequences[last].id;
        exchanged.sequences[last].id = batch.sequences[0].id;
        let leaves_no_gap = |sequence: &BatchSequence| {
            let slot = self.inner.slot_of(sequence.id);
            let stored = slot.map_or(0, |slot| self.inner.slots().len(slot));
            batch.positions[sequence.first_row] <= stored
        };
        match exchanged.sequences.iter().all(leaves_no_gap) {
            true => exchanged,
            false => batch.clone(),
        }
    }

    fn moved(batch: &Batch, by: isize) -> Batch {
        let mut moved = batch.clone();
        for position in &mut moved.positions {
            *position = position.saturating_add_signed(by).min(MAX_SEQ_LEN - 1);
        }
        moved
    }
}

impl KvCache for Slippery {
    fn begin(&mut self, batch: &Batch) -> Result<(), CacheError> {
        self.told = match self.slip {
            Slip::WrongSlot => self.with_slots_exchanged(batch),
            _ => batch.clone(),
        };
        self.inner.begin(&self.told)
    }

    fn append(&mut self, layer: usize, batch: &Batch, qkv: &[f32]) {
        let width = qkv.len() / batch.num_rows();
        match self.slip {
            Slip::LayerForgotten if layer == 1 => {}
            Slip::StaleContent if batch.positions.contains(&0) => {}
            Slip::DecodeNotKept if batch.num_rows() == batch.sequences.len() => {}
            Slip::WrongPosition => self.inner.append(layer, &Self::moved(batch, 1), qkv),
            Slip::RowsSwapped if batch.num_rows() > 1 => {
                let mut rows: Vec<&[f32]> = qkv.chunks_exact(width).collect();
                rows.swap(0, 1);
                self.inner.append(layer, &self.told, &rows.concat());
            }
            _ => self.inner.append(layer, &self.told, qkv),
        }
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
        let seen = match self.slip {
            Slip::MaskTooLong => Self::moved(batch, 1),
            Slip::MaskTooShort => Self::moved(batch, -1),
            _ => batch.clone(),
        };
        let inner = &self.inner;
        inner.attend(pool, config, layer, &seen, qkv, scores, attended);
    }

    fn commit(&mut self, _batch: &Batch) {
        self.inner.commit(&self.told);
    }
}

impl Memory for Slippery {
    fn max_seq_len(&self) -> usize {
        self.inner.max_seq_len()
    }

    fn admit(&mut self, request: &mut Request) -> Admission {
        self.inner.admit(request)
    }

    fn release(&mut self, id: SeqId) -> bool {
        self.inner.release(id)
    }

    fn holds(&self, id: SeqId) -> bool {
        self.inner.holds(id)
    }

    fn num_holders(&self) -> usize {
        self.inner.num_holders()
    }

    fn slot_of(&self, id: SeqId) -> Option<SlotId> {
        self.inner.slot_of(id)
    }

    fn check_invariants(&self) {
        self.inner.check_invariants();
    }
}

/// Four requests on two slots, so that slots are used again.
fn plan() -> Vec<Planned> {
    [(2, 6), (5, 4), (4, 3), (3, 5)]
        .into_iter()
        .enumerate()
        .map(|(index, (prompt_tokens, max_new_tokens))| Planned {
            arrives: index as u64 / 2,
            prompt: (0..prompt_tokens).map(|i| TokenId(10 * index as u32 + i)).collect(),
            max_new_tokens,
            cancel: None,
        })
        .collect()
}

/// What the oracle says of a cache with this slip.
fn complaint(slip: Slip) -> Option<String> {
    let played = std::panic::catch_unwind(|| {
        let cache = Slippery {
            inner: SlotCache::new(&config(MAX_SEQ_LEN), 2, MAX_SEQ_LEN),
            slip,
            told: Batch::default(),
        };
        let runner = Interrupted::new(Oracle::new(MAX_SEQ_LEN));
        let mut engine = Engine::new(runner, cache, limits(MAX_SEQ_LEN, 2));
        play(&mut engine, &plan(), &mut |_| {});
    });
    let panic = played.err()?;
    Some(panic.downcast_ref::<String>().cloned().unwrap_or_default())
}

#[track_caller]
fn notices(slip: Slip) {
    let said = complaint(slip).unwrap_or_else(|| panic!("{slip:?} goes unnoticed"));
    assert!(
        said.contains("assertion `left == right` failed"),
        "{slip:?}: a wrong token was expected, found {said}"
    );
}

#[test]
fn a_right_cache_passes() {
    assert_eq!(complaint(Slip::Nothing), None);
}

#[test]
fn a_mask_that_is_too_long_is_noticed() {
    notices(Slip::MaskTooLong);
}

#[test]
fn a_mask_that_is_too_short_is_noticed() {
    notices(Slip::MaskTooShort);
}

#[test]
fn a_wrong_position_is_noticed() {
    notices(Slip::WrongPosition);
}

#[test]
fn a_layer_that_is_not_written_is_noticed() {
    notices(Slip::LayerForgotten);
}

#[test]
fn rows_that_change_places_are_noticed() {
    notices(Slip::RowsSwapped);
}

#[test]
fn the_wrong_slot_is_noticed() {
    notices(Slip::WrongSlot);
}

#[test]
fn a_decoded_token_that_is_not_kept_is_noticed() {
    notices(Slip::DecodeNotKept);
}

#[test]
fn what_an_earlier_owner_left_is_noticed() {
    notices(Slip::StaleContent);
}
