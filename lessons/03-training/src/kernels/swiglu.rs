//! SwiGLU, forward and backward: a gate that decides how much of each number passes.
//!
//! ```text
//! s = 1 / (1 + e^-g);   y = g s u
//! backward: d_u = d_y g s;   d_g = d_y u s (1 + g (1 - s))
//! ```
//! Gate and up come as one matrix, `[rows, 2 n]` with the gate first, because one product computes both.

use super::{piece_rows, pieces};
use layout::exp::exp_clamped as exp;
use layout::pool::Pool;
use layout::simd::Isa;

/// `y = silu(gate) · up` in each row. Shapes: `gate_up` `[rows, 2 n]`, `y` `[rows, n]`.
/// Source: Shazeer 2020, arXiv:2002.05202.
pub fn swiglu_forward(pool: &Pool, n: usize, gate_up: &[f32], y: &mut [f32]) {
    assert_eq!(gate_up.len(), 2 * y.len(), "gate_up");
    let step = piece_rows(y.len() / n);
    let y_pieces = pieces(y, step * n);
    pool.run(y_pieces.len(), &|piece| {
        let mut y = y_pieces[piece].lock().unwrap();
        let gate_up = &gate_up[piece * step * 2 * n..][..2 * y.len()];
        Isa::detect().compiled(
            #[inline(always)]
            || forward_rows(n, gate_up, &mut y),
        );
    });
}

/// The gradient of [`swiglu_forward`]. Shapes: `gate_up`, `d_gate_up` (overwritten) `[rows, 2 n]`, `d_y` `[rows, n]`.
pub fn swiglu_backward(pool: &Pool, n: usize, gate_up: &[f32], d_y: &[f32], d_gate_up: &mut [f32]) {
    assert_eq!(gate_up.len(), 2 * d_y.len(), "gate_up");
    assert_eq!(gate_up.len(), d_gate_up.len(), "d_gate_up");
    let step = piece_rows(d_y.len() / n);
    let d_pieces = pieces(d_gate_up, step * 2 * n);
    pool.run(d_pieces.len(), &|piece| {
        let mut d_gate_up = d_pieces[piece].lock().unwrap();
        let gate_up = &gate_up[piece * step * 2 * n..][..d_gate_up.len()];
        let d_y = &d_y[piece * step * n..][..d_gate_up.len() / 2];
        Isa::detect().compiled(
            #[inline(always)]
            || backward_rows(n, gate_up, d_y, &mut d_gate_up),
        );
    });
}

#[inline(always)]
fn forward_rows(n: usize, gate_up: &[f32], y: &mut [f32]) {
    for (gate_up, y) in gate_up.chunks_exact(2 * n).zip(y.chunks_exact_mut(n)) {
        let (gate, up) = gate_up.split_at(n);
        for ((y, &g), &u) in y.iter_mut().zip(gate).zip(up) {
            *y = g / (1.0 + exp(-g)) * u;
        }
    }
}

#[inline(always)]
fn backward_rows(n: usize, gate_up: &[f32], d_y: &[f32], d_gate_up: &mut [f32]) {
    let rows = gate_up
        .chunks_exact(2 * n)
        .zip(d_y.chunks_exact(n))
        .zip(d_gate_up.chunks_exact_mut(2 * n));
    for ((gate_up, d_y), d_gate_up) in rows {
        let (gate, up) = gate_up.split_at(n);
        let (d_gate, d_up) = d_gate_up.split_at_mut(n);
        for i in 0..n {
            let (g, u, d) = (gate[i], up[i], d_y[i]);
            let s = 1.0 / (1.0 + exp(-g));
            d_gate[i] = d * u * s * (1.0 + g * (1.0 - s));
            d_up[i] = d * g * s;
        }
    }
}
