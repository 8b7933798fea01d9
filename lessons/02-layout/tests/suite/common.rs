//! What several tests share: numbers, and the conversion that two programs count (bytes in `claims.rs`, allocations in
//! `allocations.rs`).

use half::bf16;
use lab::ledger::{Ledger, measure};
use layout::convert::{Conversion, Weights};
use layout::pool::Pool;

/// Rows of the weights.
pub const OUT: usize = 64;
/// Columns of the weights.
pub const INNER: usize = 96;
/// Steps that are counted.
pub const STEPS: u64 = 10;

/// Deterministic numbers between -1 and 1.
pub fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i * 37 % 101) as f32 / 50.0 - 1.0).collect()
}

/// The ledger of [`STEPS`] steps, three rows each, for every way to convert, in the order asked for. The first step,
/// which makes scratch that stays, is not counted.
pub fn converting<const N: usize>(ways: [Conversion; N]) -> [Ledger; N] {
    const ROWS: usize = 3;
    let stored: Vec<bf16> = numbers(OUT * INNER).into_iter().map(bf16::from_f32).collect();
    let (weights, pool, x) = (Weights::new(&stored, OUT, INNER), Pool::new(1), numbers(ROWS * INNER));
    let mut y = vec![0.0; ROWS * OUT];
    ways.map(|way| {
        weights.step(way, &pool, &x, ROWS, &mut y);
        measure(|| (0..STEPS).for_each(|_| weights.step(way, &pool, &x, ROWS, &mut y))).1
    })
}
