//! Numbers that count how often they are compared.

use lab::ledger;
use std::cmp::Ordering;

/// A logit whose comparisons the ledger counts, under the name [`COMPARISONS`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted(pub f32);

/// Name in the ledger.
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

/// Comparisons that some work needs.
pub fn comparisons(work: impl FnOnce()) -> u64 {
    ledger::measure(work).1.get(COMPARISONS)
}

/// A row of logits as a model of that vocabulary might give it: most tokens unlikely, few likely, in no order. The same each time.
pub fn made_up_logits(vocab_size: usize, seed: u64) -> Vec<f32> {
    let at = |id: u32| {
        // Not the numbers of a draw: these are only to be in no order.
        let x = (id ^ (seed as u32).wrapping_mul(0xC2B2_AE3D)).wrapping_mul(0x9E37_79B1);
        let x = (x ^ (x >> 15)).wrapping_mul(0x85EB_CA77);
        let share = f64::from(x ^ (x >> 13)) / f64::from(u32::MAX);
        // Exponential tails upwards, as the logits of trained models have them.
        (-2.0 * (1.0 - share + 1e-9).ln()) as f32
    };
    (0..vocab_size as u32).map(at).collect()
}
