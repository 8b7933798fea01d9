//! What a layer does besides matrix products and attention, for all rows at once. Each function shares its rows out to the threads of a pool; a row's
//! result depends on that row alone, so the bits are the same however many rows there are and whoever computes them.
//!
//! Shapes: a matrix of `rows` rows of some width, row-major. A row of `qkv` holds queries, keys and values, in this order:
//! `[(num_heads + 2 num_kv_heads) head_dim]`.

use crate::error::GenerateError;
use crate::kernels::{apply_rope, rms_norm, swiglu};
use crate::rope::RopeTable;
use crate::rows::for_each_row;
use crate::weights::{Linear, Weights};
use layout::pool::Pool;
use training::{LlamaConfig, TokenId};

/// Checks that every token has an embedding.
///
/// # Errors
/// [`GenerateError::UnknownToken`] with the first that has none.
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

/// The embedding of each token. Shape: `hidden` `[tokens, hidden_size]`.
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

/// Norm of each row. Shapes: `x`, `out` `[rows, hidden_size]`, `weight` `[hidden_size]`.
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

/// Turns the queries and keys of each row by the row's position, in place; values are not turned.
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

/// The gate of each row. Shapes: `gate_up` `[rows, 2 intermediate_size]`, `gated` `[rows, intermediate_size]`.
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
