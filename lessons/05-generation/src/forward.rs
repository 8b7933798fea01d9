//! The forward pass over a whole prefix: tokens in, logits out. Nothing is kept for the next pass.
//!
//! ```text
//! x = embedding of each token                                        [rows, hidden_size]
//! for each layer:
//!     q, k, v = norm(x) Wqkv             and what the architecture adds to them
//!     turn q and k by their position
//!     x += attention(q, k, v) Wo         row i sees rows 0 to i
//!     gate, up = norm(x) Wgate_up
//!     x += (silu(gate) * up) Wdown
//! logits = norm(x of the last row) Whead                             [vocab_size]
//! ```
//!
//! Rows meet only in attention; every other operation treats each row alone. So a row's numbers depend on the rows
//! before it, but not on the rows after it or on the number of threads.
//!
//! Source: Llama, Touvron et al. 2023, arXiv:2302.13971.

use crate::attention::{KvView, attend_rows};
use crate::error::GenerateError;
use crate::kernels::rms_norm;
use crate::layer::{add_rows, check_tokens, embed_rows, gate_rows, norm_rows, project_rows, rotate_rows};
use crate::state::{Buffers, State};
use crate::weights::{LayerWeights, Linear, Weights};
use lab::ledger;
use layout::pool::Pool;
use loading::config::ModelConfig;
use training::{LlamaConfig, TokenId};

/// Runs the model over `tokens` and returns the logits of the token that follows the last one. Shape: `[vocab_size]`.
///
/// The head multiplies the last row only: the logits of the other rows would predict tokens that are already there.
/// Cost: see [`crate::work::Work`].
///
/// # Errors
/// No tokens, more tokens than the model has positions, or a token id outside the vocabulary.
pub fn forward<'s, L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &'s mut State,
    pool: &Pool,
    tokens: &[TokenId],
) -> Result<&'s [f32], GenerateError> {
    run_layers(config, weights, state, pool, tokens)?;
    Ok(last_logits(config, weights, state, pool, tokens.len()))
}

/// As [`forward`], with the head on every row: row `i` of `logits` predicts token `i + 1`. It serves to score a known
/// text. Shape: `logits` `[tokens, vocab_size]`.
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
    all_logits(config, weights, state, pool, tokens.len(), logits);
    Ok(())
}

/// Applies the head to the last of `rows` rows of the residual stream. Shape: `[vocab_size]`.
pub fn last_logits<'s, L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &'s mut State,
    pool: &Pool,
    rows: usize,
) -> &'s [f32] {
    let (width, eps) = (config.llama.hidden_size, config.llama.rms_norm_eps as f32);
    // ANCHOR: head
    let last = &state.hidden[(rows - 1) * width..][..width];
    let normed = &mut state.normed[..width];
    rms_norm(last, &weights.norm, eps, normed);
    let logits = &mut state.logits[..config.llama.vocab_size];
    weights.head().matmul(pool, normed, 1, logits);
    logits
    // ANCHOR_END: head
}

/// Applies the head to each of the first `rows` rows of the residual stream. Shape: `logits` `[rows, vocab_size]`.
pub fn all_logits<L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &mut State,
    pool: &Pool,
    rows: usize,
    logits: &mut [f32],
) {
    let numbers = rows * config.llama.hidden_size;
    let (hidden, normed) = (&state.hidden[..numbers], &mut state.normed[..numbers]);
    norm_rows(pool, &config.llama, hidden, &weights.norm, normed);
    weights.head().matmul(pool, normed, rows, logits);
}

/// Embeds the tokens and runs all layers. The result is the residual stream in `state.hidden`.
fn run_layers<L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &mut State,
    pool: &Pool,
    tokens: &[TokenId],
) -> Result<(), GenerateError> {
    check(config, tokens)?;
    state.reserve(config, tokens.len());
    let numbers = tokens.len() * config.llama.hidden_size;
    embed_rows(weights, tokens, &mut state.hidden[..numbers]);
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
    check_tokens(llama, tokens)
}

/// Runs one layer over the first `rows` rows of the residual stream, in place.
fn run_layer<L: Linear>(config: &LlamaConfig, layer: &LayerWeights<L>, state: &mut State, pool: &Pool, rows: usize) {
    let Buffers {
        rope,
        hidden,
        normed,
        qkv,
        attended,
        gate_up,
        gated,
        delta,
        scores,
    } = state.buffers(config, rows);

    // ANCHOR: layer
    norm_rows(pool, config, hidden, &layer.attention_norm, normed);
    project_rows(pool, config, layer, normed, rows, qkv);
    // The keys of all rows are turned before the first row attends to them.
    rotate_rows(pool, config, rope, |row| row, qkv);
    let qkv: &[f32] = qkv;
    let seen = |row, kv_head| rows_before(config, qkv, row, kv_head);
    attend_rows(pool, config, qkv, &seen, scores, attended);
    layer.attention_out.matmul(pool, attended, rows, delta);
    add_rows(pool, config, delta, hidden);

    norm_rows(pool, config, hidden, &layer.mlp_norm, normed);
    layer.gate_up.matmul(pool, normed, rows, gate_up);
    gate_rows(pool, config, gate_up, gated);
    layer.down.matmul(pool, gated, rows, delta);
    add_rows(pool, config, delta, hidden);
    // ANCHOR_END: layer
}

/// The view of row `row` in a pass over the whole prefix: the keys and values of rows 0 to `row`, which are in the same
/// matrix as its queries. Shape: `qkv` `[rows, (num_heads + 2 num_kv_heads) head_dim]`.
pub fn rows_before<'a>(config: &LlamaConfig, qkv: &'a [f32], row: usize, kv_head: usize) -> KvView<'a> {
    let k = config.q_size() + kv_head * config.head_dim;
    KvView {
        k: &qkv[k..],
        v: &qkv[k + config.kv_size()..],
        kv_stride: config.q_size() + 2 * config.kv_size(),
        context_len: row + 1,
    }
}
