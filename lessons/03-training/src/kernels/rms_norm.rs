//! RMSNorm, forward and backward: each row is divided by the root of its mean square.
//!
//! ```text
//! r = 1 / sqrt(mean(x²) + eps);   y = x r w
//! backward: d_x = r (d_y w) - x r³ mean(d_y w x);   d_w = Σ_rows d_y x r
//! ```
//! Fused, one pass over the row stands for five operations on the tape (square, mean, root, division, product).

use super::{NUM_PIECES, piece_rows, pieces};
use crate::vector::add_to;
use layout::lanes::LANES;
use layout::pool::Pool;
use layout::row;
use layout::simd::Isa;

/// Normalises every row. Shapes: `x`, `y` `[rows, n]`, `weight` `[n]`, `inverse_rms` `[rows]`, kept for the backward
/// pass. Source: Zhang and Sennrich 2019, arXiv:1910.07467.
pub fn rms_norm_forward(pool: &Pool, x: &[f32], weight: &[f32], eps: f32, y: &mut [f32], inverse_rms: &mut [f32]) {
    let (n, rows) = (weight.len(), inverse_rms.len());
    assert_eq!(x.len(), rows * n, "x");
    assert_eq!(y.len(), rows * n, "y");
    let step = piece_rows(rows);
    let (y_pieces, inverse_pieces) = (pieces(y, step * n), pieces(inverse_rms, step));
    pool.run(y_pieces.len(), &|piece| {
        let mut y = y_pieces[piece].lock().unwrap();
        let mut inverse = inverse_pieces[piece].lock().unwrap();
        let x = &x[piece * step * n..][..y.len()];
        Isa::detect().compiled(
            #[inline(always)]
            || forward_rows(x, weight, eps, &mut y, &mut inverse),
        );
    });
}

/// The gradient of [`rms_norm_forward`]. Shapes: `x`, `d_y`, `d_x` `[rows, n]`, `weight`, `d_weight` `[n]`,
/// `inverse_rms` `[rows]`; `d_x` and `d_weight` are overwritten.
pub fn rms_norm_backward(
    pool: &Pool,
    x: &[f32],
    weight: &[f32],
    inverse_rms: &[f32],
    d_y: &[f32],
    d_x: &mut [f32],
    d_weight: &mut [f32],
) {
    let (n, rows) = (weight.len(), inverse_rms.len());
    assert_eq!(x.len(), rows * n, "x");
    assert_eq!(d_y.len(), rows * n, "d_y");
    assert_eq!(d_x.len(), rows * n, "d_x");
    assert_eq!(d_weight.len(), n, "d_weight");
    let step = piece_rows(rows);
    // Each piece sums its own rows; the pieces are added in order afterwards.
    let mut partial = vec![0.0; NUM_PIECES * n];
    {
        let (x_pieces, w_pieces) = (pieces(d_x, step * n), pieces(&mut partial, n));
        pool.run(x_pieces.len(), &|piece| {
            let mut d_x = x_pieces[piece].lock().unwrap();
            let mut d_w = w_pieces[piece].lock().unwrap();
            let span = piece * step * n..piece * step * n + d_x.len();
            let inverse = &inverse_rms[piece * step..][..d_x.len() / n];
            let (x, d_y) = (&x[span.clone()], &d_y[span]);
            Isa::detect().compiled(
                #[inline(always)]
                || backward_rows(x, weight, inverse, d_y, &mut d_x, &mut d_w),
            );
        });
    }
    d_weight.fill(0.0);
    for piece in partial.chunks_exact(n) {
        add_to(d_weight, piece);
    }
}

#[inline(always)]
fn forward_rows(x: &[f32], weight: &[f32], eps: f32, y: &mut [f32], inverse_rms: &mut [f32]) {
    let n = weight.len();
    let rows = x.chunks_exact(n).zip(y.chunks_exact_mut(n)).zip(inverse_rms);
    for ((x, y), inverse) in rows {
        let r = 1.0 / (row::dot(x, x) / n as f32 + eps).sqrt();
        *inverse = r;
        for ((y, x), w) in y.iter_mut().zip(x).zip(weight) {
            *y = x * r * w;
        }
    }
}

#[inline(always)]
fn backward_rows(x: &[f32], weight: &[f32], inverse_rms: &[f32], d_y: &[f32], d_x: &mut [f32], d_weight: &mut [f32]) {
    let n = weight.len();
    let rows = x
        .chunks_exact(n)
        .zip(d_y.chunks_exact(n))
        .zip(d_x.chunks_exact_mut(n))
        .zip(inverse_rms);
    for (((x, d_y), d_x), &r) in rows {
        let through_mean = dot3_lanes(d_y, weight, x) * r * r * r / n as f32;
        for i in 0..n {
            d_x[i] = d_y[i] * weight[i] * r - x[i] * through_mean;
            d_weight[i] += d_y[i] * x[i] * r;
        }
    }
}

/// Σ a b c over a row.
#[inline(always)]
fn dot3_lanes(a: &[f32], b: &[f32], c: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (a_blocks, a_tail) = a.as_chunks::<LANES>();
    let (b_blocks, b_tail) = b.as_chunks::<LANES>();
    let (c_blocks, c_tail) = c.as_chunks::<LANES>();
    for ((a, b), c) in a_blocks.iter().zip(b_blocks).zip(c_blocks) {
        for lane in 0..LANES {
            lanes[lane] = (a[lane] * b[lane]).mul_add(c[lane], lanes[lane]);
        }
    }
    for (lane, ((a, b), c)) in a_tail.iter().zip(b_tail).zip(c_tail).enumerate() {
        lanes[lane] = (a * b).mul_add(*c, lanes[lane]);
    }
    row::fold(lanes)
}
