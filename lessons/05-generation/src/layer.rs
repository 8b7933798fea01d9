//! What a layer does besides matrix products and attention, for all rows at once.
//!
//! Each function deals the rows out to the threads of a pool. The result of a row depends on that row alone, so the
//! bits do not depend on the number of rows or threads.
//!
//! Shapes: a matrix has `rows` rows of some width, row-major. A row of `qkv` holds queries, keys and values, in this
//! order: `[(num_heads + 2 num_kv_heads) head_dim]`.

use crate::error::GenerateError;
use crate::kernels::{apply_rope, rms_norm};
use crate::lanes;
use crate::state::RopeTable;
use crate::weights::{LayerWeights, Linear, Weights};
use layout::pool::Pool;
use std::marker::PhantomData;
use training::{LlamaConfig, TokenId};

/// Checks that every token has an embedding.
///
/// # Errors
/// [`GenerateError::UnknownToken`] with the first token that has none.
pub fn check_tokens(config: &LlamaConfig, tokens: &[TokenId]) -> Result<(), GenerateError> {
    let unknown = |token: &&TokenId| token.index() >= config.vocab_size;
    match tokens.iter().find(unknown) {
        Some(token) => Err(GenerateError::UnknownToken {
            token_id: token.0,
            vocab_size: config.vocab_size,
        }),
        None => Ok(()),
    }
}

/// Copies the embedding of each token. Shape: `hidden` `[tokens, hidden_size]`.
///
/// # Panics
/// If the lengths differ, or a token is outside the vocabulary: see [`check_tokens`].
pub fn embed_rows<L: Linear>(weights: &Weights<L>, tokens: &[TokenId], hidden: &mut [f32]) {
    let width = weights.norm.len();
    assert_eq!(hidden.len(), tokens.len() * width);
    for (token, embedding) in tokens.iter().zip(hidden.chunks_exact_mut(width)) {
        weights.embedding.row(token.index(), embedding);
    }
}

/// Norms each row. Shapes: `x`, `out` `[rows, hidden_size]`, `weight` `[hidden_size]`.
///
/// # Panics
/// If a slice has another length.
pub fn norm_rows(pool: &Pool, config: &LlamaConfig, x: &[f32], weight: &[f32], out: &mut [f32]) {
    let width = config.hidden_size;
    assert_eq!(x.len(), out.len());
    for_each_row(pool, out, width, |row, out| {
        rms_norm(&x[row * width..][..width], weight, config.rms_norm_eps as f32, out);
    });
}

/// Computes queries, keys and values of each row. Shapes: `normed` `[rows, hidden_size]`, `qkv`
/// `[rows, (num_heads + 2 num_kv_heads) head_dim]`.
///
/// Two architectures add a little to the product, row by row: Qwen2 a bias, Qwen3 a norm of each head of the queries
/// and of the keys, before they are turned. Other layers pay two branches for it.
///
/// # Panics
/// If a slice has another length.
// ANCHOR: project
pub fn project_rows<L: Linear>(
    pool: &Pool,
    config: &LlamaConfig,
    layer: &LayerWeights<L>,
    normed: &[f32],
    rows: usize,
    qkv: &mut [f32],
) {
    layer.qkv.matmul(pool, normed, rows, qkv);
    let width = config.q_size() + 2 * config.kv_size();
    if let Some(bias) = &layer.qkv_bias {
        for_each_row(pool, qkv, width, |_, row| {
            for (x, bias) in row.iter_mut().zip(bias) {
                *x += bias;
            }
        });
    }
    if let Some([q_norm, k_norm]) = &layer.qk_norms {
        for_each_row(pool, qkv, width, |_, row| {
            let (q, kv) = row.split_at_mut(config.q_size());
            norm_heads(q, q_norm, config.rms_norm_eps as f32);
            norm_heads(&mut kv[..config.kv_size()], k_norm, config.rms_norm_eps as f32);
        });
    }
}
// ANCHOR_END: project

/// [`rms_norm`] of each head, in place. Shapes: `heads` `[any number, head_dim]`, `weight` `[head_dim]`.
fn norm_heads(heads: &mut [f32], weight: &[f32], eps: f32) {
    for head in heads.chunks_exact_mut(weight.len()) {
        let mean_square = lanes::sum_of_squares(head) / head.len() as f32;
        let scale = 1.0 / (mean_square + eps).sqrt();
        for (x, weight) in head.iter_mut().zip(weight) {
            *x = *x * scale * weight;
        }
    }
}

/// Turns the queries and keys of each row by the row's position, in place. Values are not turned.
///
/// # Panics
/// If a position was not reserved in `rope`.
pub fn rotate_rows(
    pool: &Pool,
    config: &LlamaConfig,
    rope: &RopeTable,
    position_of: impl Fn(usize) -> usize + Sync,
    qkv: &mut [f32],
) {
    let turned = config.q_size() + config.kv_size();
    for_each_row(pool, qkv, turned + config.kv_size(), |row, heads| {
        let (cos, sin) = rope.row(position_of(row));
        apply_rope(&mut heads[..turned], config.head_dim, cos, sin);
    });
}

/// Gates each row. Shapes: `gate_up` `[rows, 2 intermediate_size]`, `gated` `[rows, intermediate_size]`.
///
/// # Panics
/// If a slice has another length.
pub fn gate_rows(pool: &Pool, config: &LlamaConfig, gate_up: &[f32], gated: &mut [f32]) {
    let width = 2 * config.intermediate_size;
    assert_eq!(gate_up.len(), 2 * gated.len());
    for_each_row(pool, gated, config.intermediate_size, |row, gated| {
        swiglu(&gate_up[row * width..][..width], gated);
    });
}

/// The gate of the feed-forward block: `out = silu(gate) * up`, with silu(x) = x / (1 + e^-x).
///
/// Shapes: `gate_up` `[2, intermediate_size]`, the gate first, as one stacked product writes them; `out`
/// `[intermediate_size]`. Source: GLU variants improve transformer, Shazeer 2020, arXiv:2002.05202.
///
/// # Panics
/// If `gate_up` is not twice as long as `out`.
// ANCHOR: swiglu
pub fn swiglu(gate_up: &[f32], out: &mut [f32]) {
    assert_eq!(gate_up.len(), 2 * out.len());
    let (gate, up) = gate_up.split_at(out.len());
    lanes::silu_times(gate, up, out);
}
// ANCHOR_END: swiglu

/// x += delta. Shapes: both `[rows, hidden_size]`.
///
/// # Panics
/// If the lengths differ.
pub fn add_rows(pool: &Pool, config: &LlamaConfig, delta: &[f32], x: &mut [f32]) {
    let width = config.hidden_size;
    assert_eq!(x.len(), delta.len());
    for_each_row(pool, x, width, |row, x| {
        for (x, delta) in x.iter_mut().zip(&delta[row * width..][..width]) {
            *x += delta;
        }
    });
}

/// Minimum number of rows in a task: for fewer rows, handing out a task costs more than it saves.
const MIN_ROWS: usize = 4;

/// Calls `work(row, row of matrix)` for each row of `matrix` `[rows, width]`, on all threads of the pool.
///
/// # Panics
/// If the length of `matrix` is not a multiple of `width`.
pub fn for_each_row(pool: &Pool, matrix: &mut [f32], width: usize, work: impl Fn(usize, &mut [f32]) + Sync) {
    let shared = SharedRows::new(matrix, width);
    let rows = shared.rows;
    let rows_per_task = rows.div_ceil(4 * pool.num_threads()).max(MIN_ROWS);
    pool.run(rows.div_ceil(rows_per_task), &|task| {
        for row in task * rows_per_task..((task + 1) * rows_per_task).min(rows) {
            // SAFETY: each row belongs to one task, and each task runs once.
            work(row, unsafe { shared.row(row) });
        }
    });
}

/// A matrix `[rows, width]` that tasks on several threads write, each its own rows.
pub struct SharedRows<'a> {
    data: *mut f32,
    rows: usize,
    width: usize,
    borrow: PhantomData<&'a mut [f32]>,
}

// SAFETY: the only way to the data is `row`, whose caller promises that no row is used twice at a time.
unsafe impl Sync for SharedRows<'_> {}

impl<'a> SharedRows<'a> {
    /// Borrows a matrix. Shape: `data` `[rows, width]`.
    ///
    /// # Panics
    /// If the length of `data` is not a multiple of `width`.
    pub fn new(data: &'a mut [f32], width: usize) -> SharedRows<'a> {
        assert!(data.len().is_multiple_of(width));
        SharedRows {
            data: data.as_mut_ptr(),
            rows: data.len() / width,
            width,
            borrow: PhantomData,
        }
    }

    /// A row, to be written.
    ///
    /// # Safety
    /// No other slice of this row is alive.
    ///
    /// # Panics
    /// If there is no such row.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn row(&self, row: usize) -> &mut [f32] {
        assert!(row < self.rows);
        // SAFETY: the row lies within the borrowed slice, and the caller promises that no other slice of it is alive.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(row * self.width), self.width) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The norm in place is the row kernel, head by head.
    #[test]
    fn a_norm_of_heads_has_the_bits_of_the_row_kernel() {
        for head_dim in [2, 8, 15, 16, 64] {
            let x: Vec<f32> = (0..3 * head_dim)
                .map(|i| ((i * 37 % 101) as f32 - 50.0) / 7.0)
                .collect();
            let weight: Vec<f32> = (0..head_dim).map(|i| 0.5 + i as f32 / 9.0).collect();
            let (mut in_place, mut expected) = (x.clone(), vec![0.0; x.len()]);
            norm_heads(&mut in_place, &weight, 1e-6);
            for (x, out) in x.chunks_exact(head_dim).zip(expected.chunks_exact_mut(head_dim)) {
                rms_norm(x, &weight, 1e-6, out);
            }
            assert_eq!(in_place, expected);
        }
    }
}
