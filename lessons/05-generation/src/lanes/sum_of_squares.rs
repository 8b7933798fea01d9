//! Sum of squares: the only sum of a norm.

use super::{LANES, fold};
use layout::simd::Isa;

for_each_isa! {
    /// Sum of the squares of `x`, in sixteen lanes.
    sum_of_squares, sum_of_squares_on, sum_of_squares_avx2, sum_of_squares_plain,
    (x: &[f32]) -> f32, sum_of_squares_avx512
}

#[inline(always)]
fn sum_of_squares_plain(x: &[f32]) -> f32 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] = chunk[l].mul_add(chunk[l], lanes[l]);
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = x.mul_add(*x, *lane);
    }
    fold(lanes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn sum_of_squares_avx512(x: &[f32]) -> f32 {
    sum_of_squares_plain(x)
}
