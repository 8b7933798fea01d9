//! The inner loops of a row, each in sixteen lanes, over lesson 02's vector instructions ([`layout::lanes`]).
//!
//! Every sum states its order, as in [`layout::row`]. The simple version of a dot product:
//!
//! ```text
//! lanes = [0; 16]
//! for d in 0..head_dim:  lanes[d % 16] = fma(q[d], k[d], lanes[d % 16])
//! for half in 8, 4, 2, 1:  for l in 0..half:  lanes[l] += lanes[l + half]
//! score = lanes[0] * scale
//! ```
//!
//! What the real code adds, and why it is allowed:
//! 1. Everything is compiled for each instruction set and chosen at run time ([`Isa`]). Rust never reorders or
//!    contracts floating-point operations, so a compiler that finds vectors in a plain loop changes no bit.
//! 2. [`dots`] takes as many keys at once as a register has lanes, and folds their registers together, in the pattern
//!    of a matrix transpose: with sixteen lanes 15 additions instead of 64. Each key's sum keeps its order of
//!    additions.
//! 3. [`add_weighted`] keeps several heads times four registers of outputs in registers, so each value is read once for
//!    all query heads that share it. Each output still has one accumulator that takes the positions in ascending order.
//!
//! These loops know neither how many positions there are in all nor where they lie: a caller may pass them in one piece
//! or in several, and gets the same bits.

mod add_weighted;
mod dots;
mod spans;
#[cfg(test)]
mod tests;

pub use add_weighted::{add_weighted, add_weighted_on};
pub use dots::{dots, dots_on};
pub use layout::exp::exp;
pub use layout::lanes::LANES;
pub use spans::{Span, add_weighted_of_spans_on, dots_of_rows_on};

use layout::row;
use layout::simd::Isa;

/// Turns scores into weights that add up to one: softmax, in place. An empty slice stays empty.
///
/// The largest score is subtracted first, so that no exponential overflows; the sum runs in sixteen lanes, lane `l`
/// taking the positions `l`, `l + 16`, … in ascending order. Cost: one exponential a position.
pub fn softmax(scores: &mut [f32]) {
    softmax_on(Isa::detect(), scores);
}

/// [`softmax`] with a chosen instruction set.
///
/// # Panics
/// If this machine lacks `isa`.
pub fn softmax_on(isa: Isa, scores: &mut [f32]) {
    isa.compiled(
        #[inline(always)]
        || {
            let largest = row::max(scores);
            let scale = 1.0 / row::exp_and_sum(scores, largest, exp);
            for weight in scores {
                *weight *= scale;
            }
        },
    );
}

/// The gate of the feed-forward block: out = silu(gate) * up, with silu(x) = x / (1 + e^-x). Shapes: all three of one
/// length. Cost: one exponential and one division an element.
///
/// # Panics
/// If the lengths differ.
pub fn silu_times(gate: &[f32], up: &[f32], out: &mut [f32]) {
    silu_times_on(Isa::detect(), gate, up, out);
}

fn silu_times_on(isa: Isa, gate: &[f32], up: &[f32], out: &mut [f32]) {
    assert!(gate.len() == out.len() && up.len() == out.len());
    isa.compiled(
        #[inline(always)]
        || {
            for ((out, &gate), &up) in out.iter_mut().zip(gate).zip(up) {
                // e^-|x| never overflows; 1 / (1 + e^-x) = e^x / (e^x + 1) serves the negative side.
                let e = exp(-gate.abs());
                let numerator = if gate < 0.0 { e } else { 1.0 };
                *out = gate * (numerator / (1.0 + e)) * up;
            }
        },
    );
}

/// Sum of the squares of `x`, in sixteen lanes: the only sum of a norm.
pub fn sum_of_squares(x: &[f32]) -> f32 {
    sum_of_squares_on(Isa::detect(), x)
}

fn sum_of_squares_on(isa: Isa, x: &[f32]) -> f32 {
    isa.compiled(
        #[inline(always)]
        || row::dot(x, x),
    )
}

/// The end of the last of `count` pieces that begin `stride` apart and are `len` long.
#[inline(always)]
fn last_end(count: usize, stride: usize, len: usize) -> usize {
    if count == 0 {
        0
    } else {
        let begin = (count - 1).checked_mul(stride);
        let end = begin.and_then(|begin| begin.checked_add(len));
        end.expect("a shape beyond all memory")
    }
}
