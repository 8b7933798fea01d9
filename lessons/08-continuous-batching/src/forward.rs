//! The forward pass over a ragged batch: rows of many sequences, one after the other. Later lessons keep it as it is.
//!
//! ```text
//! x = embedding of each row's token                                  [rows, hidden_size]
//! for each layer:
//!     q, k, v = norm(x) Wqkv;  turn q and k by each row's own position
//!     cache.append(k, v);  x += cache.attend(q) Wo
//!     gate, up = norm(x) Wgate_up
//!     x += (silu(gate) * up) Wdown
//! logits = norm(x of the rows that sample) Whead                     [sampling, vocab_size]
//! ```
//!
//! Supersedes [`kv_cache::forward::forward`]. Everything but attention treats each row alone, so rows of different
//! sequences may stand beside each other. Attention is left to the cache, which finds the keys of a row through the
//! batch. No row is padding, and the head multiplies only the rows whose next token is wanted, all of them in one
//! product.

use crate::batch::Batch;
use crate::cache::KvCache;
use generation::layer::{add_rows, check_tokens, embed_rows, gate_rows, norm_rows, project_rows, rotate_rows};
use generation::state::Buffers;
use generation::weights::LayerWeights;
use generation::{Linear, State, Weights};
use kv_cache::CacheError;
use lab::ledger;
use layout::pool::Pool;
use loading::config::ModelConfig;
use training::LlamaConfig;

/// Makes the copies of `batch`, computes its rows, keeps their keys and values in `cache`, and returns one row of
/// logits for each sequence that wants one. Shape: `[sampling, vocab_size]`. An empty batch gives none and computes
/// nothing.
///
/// A row's logits have the same bits whatever else is in the batch. Cost: each weight is read once for all rows;
/// nothing is allocated once a pass of as many rows, logits and positions has been computed.
///
/// # Errors
/// A token outside the vocabulary, or positions beyond the model's context. The copies are made then, but no row is
/// computed. Memory was taken before the pass, so the pass can not run out of it.
pub fn forward<'s, L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &'s mut State,
    cache: &mut impl KvCache,
    pool: &Pool,
    batch: &Batch,
) -> Result<&'s mut [f32], CacheError> {
    // Copies come first, also for an empty batch: a later pass relies on them.
    for (from, to) in &batch.copies {
        cache.copy(*from, *to);
    }
    if batch.is_empty() {
        return Ok(&mut []);
    }
    // Refused before any row is written: keys and values of other passes stay as they are.
    check_batch(&config.llama, batch)?;
    let rows = batch.num_rows();
    state.reserve(config, rows);
    // The rotation table must reach the largest position of the batch, not only the number of rows.
    state.reserve_positions(batch.positions.iter().max().map_or(0, |last| last + 1));
    // After a larger pass the scratch is longer than this batch, which uses its first rows only.
    let numbers = rows * config.llama.hidden_size;
    embed_rows(weights, &batch.tokens, &mut state.hidden[..numbers]);
    for (index, layer) in weights.layers.iter().enumerate() {
        run_layer(&config.llama, index, layer, state, cache, pool, batch);
    }
    ledger::count(|l| {
        l.steps += 1;
        l.add("positions", rows as u64);
    });
    Ok(head_rows(config, weights, state, pool, batch))
}

/// Refuses tokens and positions that the model does not know.
fn check_batch(config: &LlamaConfig, batch: &Batch) -> Result<(), CacheError> {
    for sequence in &batch.sequences {
        // Positions of a sequence ascend by one, so the first one and the number of rows give the last one.
        let len = batch.positions[sequence.first_row];
        if len + sequence.num_rows > config.max_seq_len {
            return Err(CacheError::PastContext {
                len,
                new: sequence.num_rows,
                max_seq_len: config.max_seq_len,
            });
        }
    }
    Ok(check_tokens(config, &batch.tokens)?)
}

/// One layer over all rows of the residual stream, in place.
fn run_layer<L: Linear>(
    config: &LlamaConfig,
    index: usize,
    layer: &LayerWeights<L>,
    state: &mut State,
    cache: &mut impl KvCache,
    pool: &Pool,
    batch: &Batch,
) {
    let rows = batch.num_rows();
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
    rotate_rows(pool, config, rope, |row| batch.positions[row], qkv);
    cache.append(index, batch, qkv);
    cache.attend(pool, config, index, batch, qkv, scores, attended);
    layer.attention_out.matmul(pool, attended, rows, delta);
    add_rows(pool, config, delta, hidden);

    norm_rows(pool, config, hidden, &layer.mlp_norm, normed);
    layer.gate_up.matmul(pool, normed, rows, gate_up);
    gate_rows(pool, config, gate_up, gated);
    layer.down.matmul(pool, gated, rows, delta);
    add_rows(pool, config, delta, hidden);
    // ANCHOR_END: layer
}

/// The head on the last row of each sequence that wants logits. Shape: `[sampling, vocab_size]`.
fn head_rows<'s, L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &'s mut State,
    pool: &Pool,
    batch: &Batch,
) -> &'s mut [f32] {
    let (width, vocab_size) = (config.llama.hidden_size, config.llama.vocab_size);
    // Only sequences that want a token get a row of logits.
    let sampling = batch.sampling().count();
    state.reserve_logits(config, sampling);
    // ANCHOR: head
    // The last layer is done with `delta`: the rows that sample are gathered there, without gaps.
    for (sequence, row) in batch.sampling().zip(state.delta.chunks_exact_mut(width)) {
        row.copy_from_slice(&state.hidden[sequence.last_row() * width..][..width]);
    }
    let gathered = &state.delta[..sampling * width];
    let normed = &mut state.normed[..sampling * width];
    norm_rows(pool, &config.llama, gathered, &weights.norm, normed);
    let logits = &mut state.logits[..sampling * vocab_size];
    // A product without rows would still read the whole head.
    if sampling > 0 {
        weights.head().matmul(pool, normed, sampling, logits);
    }
    logits
    // ANCHOR_END: head
}
