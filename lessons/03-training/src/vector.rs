//! Loops over rows of floats, compiled for the widest vectors of the machine.
//!
//! The sums and the exponential function are lesson 02's ([`layout::row`], [`layout::exp`]); here each is one call,
//! with the instruction set chosen when it is called.

use layout::exp::exp_clamped;
use layout::row;
use layout::simd::Isa;

/// Largest element of a row `[n]`; negative infinity when it is empty.
pub fn max(x: &[f32]) -> f32 {
    Isa::detect().compiled(
        #[inline(always)]
        || row::max(x),
    )
}

/// Replaces each element of a row `[n]` by e^(x - shift) and gives the sum of the new row.
pub fn exp_and_sum(x: &mut [f32], shift: f32) -> f32 {
    Isa::detect().compiled(
        #[inline(always)]
        || row::exp_and_sum(x, shift, exp_clamped),
    )
}

/// Multiplies a row `[n]` by a number.
pub fn scale(x: &mut [f32], factor: f32) {
    Isa::detect().compiled(
        #[inline(always)]
        || x.iter_mut().for_each(|value| *value *= factor),
    );
}

/// Adds a row to another, both `[n]`.
pub fn add_to(sum: &mut [f32], x: &[f32]) {
    Isa::detect().compiled(
        #[inline(always)]
        || sum.iter_mut().zip(x).for_each(|(s, v)| *s += v),
    );
}
