//! One product, y = x Wᵀ, over weights that are stored as bf16, with the widening to f32 in three places.
//!
//! A bf16 is the upper half of an f32, so widening is exact and all three give the same bits. They differ in what they
//! allocate and move at each step.

use crate::packed::PackedMatrix;
use crate::pool::Pool;
use half::bf16;

/// Where the weights become f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// In the loop: each step makes an f32 copy, uses it once and frees it.
    EachStep,
    /// Before the loop: one copy serves all steps.
    OnceBefore,
    /// In registers: the weights stay bf16 and are widened as they are read.
    InRegisters,
}

/// The weights, prepared for all three: packed, so that the product is the same fast one and only the conversion
/// differs.
pub struct Weights {
    stored: PackedMatrix,
    widened: PackedMatrix,
}

impl Weights {
    /// Weights `[out_features, in_features]`, row-major.
    ///
    /// # Panics
    /// If the data has another length.
    pub fn new(stored: &[bf16], out_features: usize, in_features: usize) -> Weights {
        let stored = PackedMatrix::from_bf16(stored, out_features, in_features);
        Weights {
            widened: stored.widened(),
            stored,
        }
    }

    /// One step: `x` `[rows, in_features]`, `y` `[rows, out_features]`, overwritten. Cost beside the product:
    /// [`Conversion::EachStep`] allocates and writes 4 bytes per weight and reads them again, the others nothing.
    ///
    /// # Panics
    /// If a slice has another length.
    pub fn step(&self, conversion: Conversion, pool: &Pool, x: &[f32], rows: usize, y: &mut [f32]) {
        // ANCHOR: step
        match conversion {
            Conversion::EachStep => {
                let widened = self.stored.widened();
                lab::ledger::count(|ledger| {
                    ledger.bytes_read += self.stored.bytes() as u64;
                    ledger.bytes_written += widened.bytes() as u64;
                });
                widened.matmul(pool, x, rows, y);
            }
            Conversion::OnceBefore => self.widened.matmul(pool, x, rows, y),
            Conversion::InRegisters => self.stored.matmul(pool, x, rows, y),
        }
        // ANCHOR_END: step
    }
}
