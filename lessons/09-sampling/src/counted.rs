//! Numbers that count their comparisons.

use lab::ledger;
use std::cmp::Ordering;

/// A logit that counts each of its comparisons in the ledger, under the name [`COMPARISONS`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted(pub f32);

/// Name of the count in the ledger.
pub const COMPARISONS: &str = "comparisons";

impl PartialEq for Counted {
    fn eq(&self, other: &Counted) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Counted) -> Option<Ordering> {
        ledger::count(|l| l.add(COMPARISONS, 1));
        self.0.partial_cmp(&other.0)
    }
}

/// Number of comparisons of [`Counted`] numbers in some work.
pub fn comparisons(work: impl FnOnce()) -> u64 {
    ledger::measure(work).1.get(COMPARISONS)
}

/// A made-up row of logits `[vocab_size]`, shaped as those of trained models: most tokens are unlikely, few are likely,
/// in no order. The same seed gives the same row.
pub fn made_up_logits(vocab_size: usize, seed: u64) -> Vec<f32> {
    let at = |id: u32| {
        // A hash of its own and not `uniform`, which a learner may have changed.
        let x = (id ^ (seed as u32).wrapping_mul(0xC2B2_AE3D)).wrapping_mul(0x9E37_79B1);
        let x = (x ^ (x >> 15)).wrapping_mul(0x85EB_CA77);
        let share = f64::from(x ^ (x >> 13)) / f64::from(u32::MAX);
        // An exponential upper tail, as the logits of trained models have it.
        (-2.0 * (1.0 - share + 1e-9).ln()) as f32
    };
    (0..vocab_size as u32).map(at).collect()
}
