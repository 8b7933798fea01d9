//! One product, y = x Wᵀ, over weights that are stored as bf16, with the widening to f32 in three places.
//!
//! A bf16 is the upper half of an f32, so widening is exact and all three give the same bits. They differ in what they
//! allocate and move at each step.

use crate::gemm::{MatMut, MatRef, Write, gemm};
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

/// The weights, prepared for all three.
pub struct Weights {
    out_features: usize,
    in_features: usize,
    stored: Vec<bf16>,
    widened: Vec<f32>,
    packed: PackedMatrix,
}

impl Weights {
    /// Weights `[out_features, in_features]`, row-major.
    ///
    /// # Panics
    /// If the data has another length.
    pub fn new(stored: Vec<bf16>, out_features: usize, in_features: usize) -> Weights {
        let packed = PackedMatrix::from_bf16(&stored, out_features, in_features);
        Weights {
            out_features,
            in_features,
            widened: widen(&stored),
            stored,
            packed,
        }
    }

    /// One step: `x` `[rows, in_features]`, `y` `[rows, out_features]`, overwritten.
    /// Cost beside the product: [`Conversion::EachStep`] allocates and writes 4 bytes per weight and reads them again, the others nothing.
    ///
    /// # Panics
    /// If a slice has another length.
    pub fn step(&self, conversion: Conversion, pool: &Pool, x: &[f32], rows: usize, y: &mut [f32]) {
        match conversion {
            Conversion::EachStep => self.product(&widen(&self.stored), pool, x, rows, y),
            Conversion::OnceBefore => self.product(&self.widened, pool, x, rows, y),
            Conversion::InRegisters => self.packed.matmul(pool, x, rows, y),
        }
    }

    fn product(&self, w: &[f32], pool: &Pool, x: &[f32], rows: usize, y: &mut [f32]) {
        let x = MatRef::row_major(x, rows, self.in_features);
        let w = MatRef::row_major(w, self.out_features, self.in_features);
        let mut y = MatMut::row_major(y, rows, self.out_features);
        gemm(pool, x, w.t(), &mut y, Write::Overwrite);
    }
}

fn widen(stored: &[bf16]) -> Vec<f32> {
    lab::ledger::count(|ledger| {
        ledger.bytes_read += size_of_val(stored) as u64;
        ledger.bytes_written += 2 * size_of_val(stored) as u64;
    });
    stored.iter().map(|w| w.to_f32()).collect()
}
