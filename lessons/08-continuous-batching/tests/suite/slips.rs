//! The oracle notices what it is there for: caches that are right but for one slip, each a fault that was seen in some
//! engine.

use continuous_batching::oracle::play::{Interrupted, Planned, play};
use continuous_batching::oracle::{Oracle, config, limits};
use continuous_batching::{Batch, Engine, KvCache, SlotCache, Slots};
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
}

/// The same batch, in which the first and the last sequence have each other's table.
fn with_tables_exchanged(batch: &Batch) -> Batch {
    let mut exchanged = Batch::default();
    exchanged.tokens.clone_from(&batch.tokens);
    exchanged.positions.clone_from(&batch.positions);
    exchanged.sequences.clone_from(&batch.sequences);
    let last = batch.sequences.len() - 1;
    for sequence in 0..=last {
        let other = match sequence {
            0 => last,
            _ if sequence == last => 0,
            _ => sequence,
        };
        exchanged.add_table(|table| table.extend(batch.table(other)));
    }
    exchanged
}

/// The same batch with other positions.
fn moved(batch: &Batch, by: isize) -> Batch {
    let mut moved = batch.clone();
    for position in &mut moved.positions {
        *position = position.saturating_add_signed(by).min(MAX_SEQ_LEN - 1);
    }
    moved
}

impl KvCache for Slippery {
    fn copy(&mut self, from: u32, to: u32) {
        self.inner.copy(from, to);
    }

    fn append(&mut self, layer: usize, batch: &Batch, qkv: &[f32]) {
        let width = qkv.len() / batch.num_rows();
        match self.slip {
            Slip::LayerForgotten if layer == 1 => {}
            Slip::StaleContent if batch.positions.contains(&0) => {}
            Slip::DecodeNotKept if batch.num_rows() == batch.sequences.len() => {}
            Slip::WrongPosition => self.inner.append(layer, &moved(batch, 1), qkv),
            Slip::WrongSlot => self.inner.append(layer, &with_tables_exchanged(batch), qkv),
            Slip::RowsSwapped if batch.num_rows() > 1 => {
                let mut rows: Vec<&[f32]> = qkv.chunks_exact(width).collect();
                rows.swap(0, 1);
                self.inner.append(layer, batch, &rows.concat());
            }
            _ => self.inner.append(layer, batch, qkv),
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
            Slip::MaskTooLong => moved(batch, 1),
            Slip::MaskTooShort => moved(batch, -1),
            _ => batch.clone(),
        };
        let inner = &self.inner;
        inner.attend(pool, config, layer, &seen, qkv, scores, attended);
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
        let inner = SlotCache::new(&config(MAX_SEQ_LEN), 2, MAX_SEQ_LEN);
        let runner = Interrupted::new(Oracle::new(MAX_SEQ_LEN, Slippery { inner, slip }));
        let mut engine = Engine::new(runner, Slots::new(2, MAX_SEQ_LEN), limits(MAX_SEQ_LEN, 2));
        play(&mut engine, &plan(), &mut |_, _| (), &mut |_| {});
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

/// Each of them gives a wrong token.
#[test]
fn every_slip_is_noticed() {
    for slip in [
        Slip::MaskTooLong,
        Slip::MaskTooShort,
        Slip::WrongPosition,
        Slip::LayerForgotten,
        Slip::RowsSwapped,
        Slip::WrongSlot,
        Slip::DecodeNotKept,
        Slip::StaleContent,
    ] {
        notices(slip);
    }
}
