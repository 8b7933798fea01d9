//! The forward pass over a whole prefix: tokens in, logits out, nothing remembered.
//!
//! ```text
//! x = embedding of each token                                        [rows, hidden_size]
//! for each layer:
//!     q, k, v = norm(x) Wqkv;  turn q and k by their position
//!     x += attention(q, k, v) Wo         row i sees rows 0 to i
//!     gate, up = norm(x) Wgate_up
//!     x += (silu(gate) * up) Wdown
//! logits = norm(x of the last row) Whead                             [vocab_size]
//! ```
//!
//! Rows meet only in attention. Everything else treats each row alone, so that a row's numbers depend on the rows before it and
//! on nothing else: not on the rows after it, not on the number of threads.
//!
//! Source: Llama, Touvron et al. 2023, arXiv:2302.13971.

use crate::error::GenerateError;
use crate::kernels::{apply_rope, attend_row, rms_norm, swiglu};
use crate::rope::RopeTable;
use crate::rows::{SharedRows, for_each_row};
use crate::state::State;
use crate::weights::{LayerWeights, Linear, Weights};
use lab::ledger;
use layout::pool::Pool;
use loading::config::ModelConfig;
use training::{LlamaConfig, TokenId};

/// Runs the model over `tokens` and returns the logits of the token that follows the last one. Shape: `[vocab_size]`.
///
/// The head multiplies the last row only: the other rows' logits would predict tokens that are already there. Cost: see
/// [`crate::work::Work`].
///
/// # Errors
/// No token, more tokens than the model has positions, a token id outside the vocabulary.
pub fn forward<'s, L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &'s mut State,
    pool: &Pool,
    tokens: &[TokenId],
) -> Result<&'s [f32], GenerateError> {
    run_layers(config, weights, state, pool, tokens)?;
    let hidden_size = config.llama.hidden_size;
    // ANCHOR: head
    let last = &state.hidden[(tokens.len() - 1) * hidden_size..][..hidden_size];
    let normed = &mut state.normed[..hidden_size];
    rms_norm(
        last,
        &weights.norm,
        config.llama.rms_norm_eps as f32,
        normed,
    );
    weights.head().matmul(pool, normed, 1, &mut state.logits);
    Ok(&state.logits)
    // ANCHOR_END: head
}

/// As [`forward`], with the head on every row: row `i` of `logits` predicts token `i + 1`. For scoring a text that is known.
/// Shape: `logits` `[tokens, vocab_size]`.
///
/// # Errors
/// As [`forward`].
///
/// # Panics
/// If `logits` has another length.
pub fn forward_all<L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &mut State,
    pool: &Pool,
    tokens: &[TokenId],
    logits: &mut [f32],
) -> Result<(), GenerateError> {
    assert_eq!(logits.len(), tokens.len() * config.llama.vocab_size);
    run_layers(config, weights, state, pool, tokens)?;
    let numbers = tokens.len() * config.llama.hidden_size;
    let normed = &mut state.normed[..numbers];
    norm_rows(
        pool,
        &config.llama,
        &state.hidden[..numbers],
        &weights.norm,
        normed,
    );
    weights.head().matmul(pool, normed, tokens.len(), logits);
    Ok(())
}

/// Embedding and all layers; leaves the residual stream in `state.hidden`.
fn run_layers<L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &mut State,
    pool: &Pool,
    tokens: &[TokenId],
) -> Result<(), GenerateError> {
    check(config, tokens)?;
    state.reserve(config, tokens.len());
    let embeddings = state.hidden.chunks_exact_mut(config.llama.hidden_size);
    for (token, embedding) in tokens.iter().zip(embeddings) {
        weights.embedding.row(token.index(), embedding);
    }
    for layer in &weights.layers {
        run_layer(&config.llama, layer, state, pool, tokens.len());
    }
    ledger::count(|l| l.add("positions", tokens.len() as u64));
    Ok(())
}

fn check(config: &ModelConfig, tokens: &[TokenId]) -> Result<(), GenerateError> {
    let llama = &config.llama;
    if tokens.is_empty() {
        return Err(GenerateError::EmptyPrompt);
    }
    if tokens.len() > llama.max_seq_len {
        return Err(GenerateError::PromptTooLong {
            prompt_tokens: tokens.len(),
            max_seq_len: llama.max_seq_len,
        });
    }
    match tokens
        .iter()
        .find(|token| token.index() >= llama.vocab_size)
    {
        Some(token) => Err(GenerateError::UnknownToken {
            token_id: token.0,
            vocab_size: llama.vocab_size,
        }),
        None => Ok(()),
    }
}

/// One layer over the first `rows` rows of the residual stream, in place.
pub(crate) fn run_layer<L: Linear>(
    config: &LlamaConfig,
    layer: &LayerWeights<L>,
    state: &mut State,
    pool: &Pool,
    rows: usize,
) {
    let task_scores = config.group_size() * rows;
    let num_tasks = attention_tasks(pool, rows);
    // The scores of a task may not fit yet: their number depends on the threads of the pool.
    if state.scores.len() < num_tasks * task_scores {
        state.scores.resize(num_tasks * task_scores, 0.0);
    }
    let hidden = &mut state.hidden[..rows * config.hidden_size];
    let normed = &mut state.normed[..rows * config.hidden_size];
    let qkv = &mut state.qkv[..rows * layer.qkv.out_features()];
    let attended = &mut state.attended[..rows * config.q_size()];
    let gate_up = &mut state.gate_up[..rows * 2 * config.intermediate_size];
    let gated = &mut state.gated[..rows * config.intermediate_size];
    let delta = &mut state.delta[..rows * config.hidden_size];
    let scores = &mut state.scores[..num_tasks * task_scores];

    // ANCHOR: layer
    norm_rows(pool, config, hidden, &layer.attention_norm, normed);
    layer.qkv.matmul(pool, normed, rows, qkv);
    rotate_rows(pool, config, &state.rope, qkv);
    attend_rows(pool, config, qkv, scores, attended);
    layer.attention_out.matmul(pool, attended, rows, delta);
    add_rows(pool, config, delta, hidden);

    norm_rows(pool, config, hidden, &layer.mlp_norm, normed);
    layer.gate_up.matmul(pool, normed, rows, gate_up);
    for_each_row(pool, gated, config.intermediate_size, |row, gated| {
        let width = 2 * config.intermediate_size;
        swiglu(&gate_up[row * width..][..width], gated);
    });
    layer.down.matmul(pool, gated, rows, delta);
    add_rows(pool, config, delta, hidden);
    // ANCHOR_END: layer
}

/// Norm of each row. Shapes: `x`, `out` `[rows, hidden_size]`.
fn norm_rows(pool: &Pool, config: &LlamaConfig, x: &[f32], weight: &[f32], out: &mut [f32]) {
    let width = config.hidden_size;
    for_each_row(pool, out, width, |row, out| {
        rms_norm(
            &x[row * width..][..width],
            weight,
            config.rms_norm_eps as f32,
            out,
        );
    });
}

/// Turns the queries and keys of row `i` by position `i`; values are not turned.
fn rotate_rows(pool: &Pool, config: &LlamaConfig, rope: &RopeTable, qkv: &mut [f32]) {
    let width = config.q_size() + 2 * config.kv_size();
    for_each_row(pool, qkv, width, |position, row| {
        let (cos, sin) = rope.row(position);
        apply_rope(
            &mut row[..config.q_size() + config.kv_size()],
            config.head_dim,
            cos,
            sin,
        );
    });
}

/// x += delta. Shapes: both `[rows, hidden_size]`.
fn add_rows(pool: &Pool, config: &LlamaConfig, delta: &[f32], x: &mut [f32]) {
    let width = config.hidden_size;
    for_each_row(pool, x, width, |row, x| {
        for (x, delta) in x.iter_mut().zip(&delta[row * width..][..width]) {
            *x += delta;
        }
    });
}

/// Rows that attend together: while one head's keys and values are in the cache, each of these rows uses them.
const ATTENTION_ROWS: usize = 8;

/// Tasks of [`attend_rows`]: a few for each thread, since later rows have more to do.
fn attention_tasks(pool: &Pool, rows: usize) -> usize {
    rows.div_ceil(ATTENTION_ROWS).min(4 * pool.num_threads())
}

/// Causal attention: row `i` attends to rows 0 to `i`. Shapes: `qkv` `[rows, (num_heads + 2 num_kv_heads) head_dim]`, `attended`
/// `[rows, num_heads head_dim]`, `scores` `[tasks, group_size rows]`.
fn attend_rows(
    pool: &Pool,
    config: &LlamaConfig,
    qkv: &[f32],
    scores: &mut [f32],
    attended: &mut [f32],
) {
    let (head_dim, group_size) = (config.head_dim, config.group_size());
    let width = config.q_size() + 2 * config.kv_size();
    let rows = qkv.len() / width;
    let num_tasks = attention_tasks(pool, rows);
    let scores = SharedRows::new(scores, group_size * rows);
    let attended = SharedRows::new(attended, config.q_size());
    ledger::count(|l| {
        let pairs = (rows * (rows + 1) / 2) as u64;
        l.multiply_adds += 2 * pairs * config.q_size() as u64;
    });
    pool.run(num_tasks, &|task| {
        // SAFETY: each task has scores of its own.
        let scores = unsafe { scores.row(task) };
        for first in (task * ATTENTION_ROWS..rows).step_by(num_tasks * ATTENTION_ROWS) {
            for kv_head in 0..config.num_kv_heads {
                let heads = kv_head * group_size * head_dim..(kv_head + 1) * group_size * head_dim;
                let k = &qkv[config.q_size() + kv_head * head_dim..];
                let v = &qkv[config.q_size() + config.kv_size() + kv_head * head_dim..];
                for row in first..rows.min(first + ATTENTION_ROWS) {
                    let q = &qkv[row * width..][heads.clone()];
                    // SAFETY: each row belongs to one task.
                    let out = &mut unsafe { attended.row(row) }[heads.clone()];
                    attend_row(
                        q,
                        k,
                        v,
                        width,
                        row + 1,
                        group_size,
                        1,
                        head_dim,
                        scores,
                        out,
                    );
                }
            }
        }
    });
}
