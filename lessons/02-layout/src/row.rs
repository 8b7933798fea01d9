//! Sums over one row of floats, each in sixteen lanes.
//!
//! A sum of floats depends on its order. A loop that is to give the same bits on every machine must state its order,
//! and a fast one must leave room for vector registers. So every sum runs in sixteen lanes, whatever the machine has:
//! lane `l` takes the elements `l`, `l + 16`, `l + 32`, … in ascending order, each with a fused multiply-add, and at
//! the end the lanes are folded in halves, 16 to 8 to 4 to 2 to 1.
//!
//! These are plain loops. They become fast inside [`Isa::compiled`](crate::simd::Isa::compiled) or a
//! [`Kernel`](crate::simd::Kernel): Rust never reorders or contracts floating-point operations, so a compiler that
//! finds vectors in them changes no bit.

use crate::lanes::LANES;

/// Folds sixteen lanes to their sum, in halves.
#[inline(always)]
pub fn fold(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for l in 0..half {
            lanes[l] += lanes[l + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Sum of products of two rows of one length.
#[inline(always)]
pub fn dot(x: &[f32], y: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let ((x_blocks, x_tail), (y_blocks, y_tail)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in x_blocks.iter().zip(y_blocks) {
        for l in 0..LANES {
            lanes[l] = x[l].mul_add(y[l], lanes[l]);
        }
    }
    for (lane, (x, y)) in lanes.iter_mut().zip(x_tail.iter().zip(y_tail)) {
        *lane = x.mul_add(*y, *lane);
    }
    fold_rolled(lanes)
}

/// As [`fold`], in a loop that the compiler does not unroll. Unrolled, it reaches back into the loop of [`dot`] and
/// cuts its registers into pairs of lanes: 1536 products take 173 ns instead of 82.
#[inline(always)]
fn fold_rolled(mut lanes: [f32; LANES]) -> f32 {
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            lanes[l] += lanes[l + half];
        }
    }
    lanes[0]
}

/// Largest element of a row; negative infinity when it is empty. NaN is ignored.
#[inline(always)]
pub fn max(x: &[f32]) -> f32 {
    // The largest of several numbers is the same in any order; sixteen lanes only make room for registers.
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (blocks, tail) = x.as_chunks::<LANES>();
    for block in blocks {
        for l in 0..LANES {
            lanes[l] = if block[l] > lanes[l] { block[l] } else { lanes[l] };
        }
    }
    let all = lanes.iter().chain(tail);
    all.fold(f32::NEG_INFINITY, |max, &x| if x > max { x } else { max })
}

/// Replaces each element of a row by `exp(x - shift)` and returns the sum of the new row.
#[inline(always)]
pub fn exp_and_sum(x: &mut [f32], shift: f32, exp: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let (blocks, tail) = x.as_chunks_mut::<LANES>();
    for block in blocks {
        for l in 0..LANES {
            block[l] = exp(block[l] - shift);
            lanes[l] += block[l];
        }
    }
    for (lane, x) in lanes.iter_mut().zip(tail) {
        *x = exp(*x - shift);
        *lane += *x;
    }
    fold(lanes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_every_width_are_counted() {
        for n in 0..70 {
            let mut x: Vec<f32> = (0..n).map(|i| (i % 7) as f32 - 2.0).collect();
            assert_eq!(dot(&x, &x), x.iter().map(|v| v * v).sum::<f32>());
            assert_eq!(max(&x), x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            assert_eq!(exp_and_sum(&mut x, 3.0, |x| x + 3.0), x.iter().sum::<f32>());
            assert!(x.iter().enumerate().all(|(i, x)| *x == (i % 7) as f32 - 2.0));
        }
    }
}
