//! The forward pass over a batch: a rectangle of cells in, logits of one token for each row out.
//!
//! ```text
//! x = embedding of each cell                                         [batch_size · width, hidden_size]
//! for each layer:
//!     q, k, v = norm(x) Wqkv;  turn q and k by the cell's position in its own sequence
//!     append k and v of the cells with a token, each to the cache of its row
//!     x += attention(q, the row's own k and v) Wo                    padding: zero
//!     gate, up = norm(x) Wgate_up
//!     x += (silu(gate) * up) Wdown
//! logits = norm(x of each row's last token) Whead                    [batch_size, vocab_size]
//! ```
//!
//! Supersedes [`kv_cache::forward::forward`]. The products have more rows than in lesson 06 and are otherwise the same
//! calls: each reads its weights once for all rows. Rows of different sequences never meet: a product computes each row
//! by itself, and in attention each row reads its own cache. So the bits of a row do not depend on the other rows of
//! the batch.

use crate::batch::PaddedBatch;
use crate::error::BatchError;
use generation::attention::{attend_rows, reserve_scores};
use generation::kernels::rms_norm;
use generation::layer::for_each_row;
use generation::layer::{add_rows, check_tokens, embed_rows, gate_rows, norm_rows, project_rows, rotate_rows};
use generation::state::Buffers;
use generation::weights::LayerWeights;
use generation::{Linear, State, Weights};
use kv_cache::{CacheError, ContiguousCache};
use lab::ledger;
use layout::pool::Pool;
use loading::config::ModelConfig;
use training::LlamaConfig;

/// Computes a batch, appends each row's keys and values to its cache, and returns the logits of the token after each
/// row's last one. Shapes: `caches` `[batch_size]`, the result `[batch_size, vocab_size]`. Logits of a row that is all
/// padding have no meaning.
///
/// Cost: see [`crate::work::of_batch`]; allocates nothing after the first batch of as many cells over caches of this
/// capacity.
///
/// # Errors
/// A token outside the vocabulary, or a row whose tokens do not fit its cache or the model's context. No cache is
/// changed then.
///
/// # Panics
/// If there is not one cache for each row, or a cache holds another number of positions than the batch continues from.
pub fn forward<'s, L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &'s mut State,
    caches: &mut [ContiguousCache],
    pool: &Pool,
    batch: &PaddedBatch,
) -> Result<&'s [f32], BatchError> {
    assert_eq!(caches.len(), batch.batch_size(), "one cache for each row");
    check_tokens(&config.llama, batch.tokens()).map_err(CacheError::from)?;
    check_room(&config.llama, caches, batch)?;
    reserve(config, state, caches, pool, batch);
    let numbers = batch.cells() * config.llama.hidden_size;
    embed_rows(weights, batch.tokens(), &mut state.hidden[..numbers]);
    for (index, layer) in weights.layers.iter().enumerate() {
        run_layer(&config.llama, index, layer, state, caches, pool, batch);
    }
    for (cache, cells) in caches.iter_mut().zip(batch.stored()) {
        cache.advance(cells.len());
    }
    ledger::count(|l| {
        l.steps += 1;
        l.add("positions", batch.cells() as u64);
        l.add("padded_positions", batch.padded_cells() as u64);
    });
    Ok(last_logits(config, weights, state, pool, batch))
}

/// Checks every row before the first layer, so that a refused batch has written nothing.
fn check_room(config: &LlamaConfig, caches: &[ContiguousCache], batch: &PaddedBatch) -> Result<(), CacheError> {
    for (cache, cells) in caches.iter().zip(batch.stored()) {
        let first = batch.context_len().get(cells.start);
        assert!(
            cells.is_empty() || first == Some(&(cache.len() + 1)),
            "a cache of {} positions is not the one that this batch goes on with",
            cache.len()
        );
        cache.check_room(cells.len())?;
        if cache.len() + cells.len() > config.max_seq_len {
            return Err(CacheError::PastContext {
                len: cache.len(),
                new: cells.len(),
                max_seq_len: config.max_seq_len,
            });
        }
    }
    Ok(())
}

/// Makes room for this batch and for every later step with these caches.
fn reserve(config: &ModelConfig, state: &mut State, caches: &[ContiguousCache], pool: &Pool, batch: &PaddedBatch) {
    let capacity = caches.iter().map(ContiguousCache::capacity).max();
    let positions = capacity.unwrap_or(0).min(config.llama.max_seq_len);
    state.reserve(config, batch.cells());
    state.reserve_positions(positions);
    state.reserve_logits(config, batch.batch_size());
    let scores = &mut state.scores;
    reserve_scores(pool, &config.llama, batch.cells(), positions, scores);
}

/// One layer over all cells of the residual stream, in place.
fn run_layer<L: Linear>(
    config: &LlamaConfig,
    index: usize,
    layer: &LayerWeights<L>,
    state: &mut State,
    caches: &mut [ContiguousCache],
    pool: &Pool,
    batch: &PaddedBatch,
) {
    let cells = batch.cells();
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
    } = state.buffers(config, cells);
    // Padding has no position. No row reads its keys, so any angle will do.
    let position_of = |cell: usize| batch.positions()[cell].unwrap_or(0);

    // ANCHOR: layer
    norm_rows(pool, config, hidden, &layer.attention_norm, normed);
    project_rows(pool, config, layer, normed, cells, qkv);
    rotate_rows(pool, config, rope, position_of, qkv);
    keep(caches, index, batch, qkv);
    attend(pool, config, caches, index, batch, qkv, scores, attended);
    layer.attention_out.matmul(pool, attended, cells, delta);
    add_rows(pool, config, delta, hidden);

    norm_rows(pool, config, hidden, &layer.mlp_norm, normed);
    layer.gate_up.matmul(pool, normed, cells, gate_up);
    gate_rows(pool, config, gate_up, gated);
    layer.down.matmul(pool, gated, cells, delta);
    add_rows(pool, config, delta, hidden);
    // ANCHOR_END: layer
}

// ANCHOR: views
/// Appends keys and values of the cells with a token, each row's to its own cache. Shape: `qkv` `[cells, …]`.
fn keep(caches: &mut [ContiguousCache], layer: usize, batch: &PaddedBatch, qkv: &[f32]) {
    let width = qkv.len() / batch.cells();
    for (cache, cells) in caches.iter_mut().zip(batch.stored()) {
        cache.append(layer, &qkv[cells.start * width..cells.end * width]);
    }
}

/// Attention of each cell over the first `context_len` positions of its row's cache; zero for padding.
fn attend(
    pool: &Pool,
    config: &LlamaConfig,
    caches: &[ContiguousCache],
    layer: usize,
    batch: &PaddedBatch,
    qkv: &[f32],
    scores: &mut Vec<f32>,
    attended: &mut [f32],
) {
    let (width, context_len) = (batch.width(), batch.context_len());
    let view = |cell: usize, kv_head| caches[cell / width].view(layer, kv_head, context_len[cell]);
    attend_rows(pool, config, qkv, &view, scores, attended);
}
// ANCHOR_END: views

/// The head on the last token of each row. Shape: `[batch_size, vocab_size]`.
fn last_logits<'s, L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &'s mut State,
    pool: &Pool,
    batch: &PaddedBatch,
) -> &'s [f32] {
    let (llama, batch_size) = (&config.llama, batch.batch_size());
    let (width, eps) = (llama.hidden_size, llama.rms_norm_eps as f32);
    let (hidden, normed) = (&state.hidden, &mut state.normed[..batch_size * width]);
    let norm = &weights.norm;
    // ANCHOR: head
    for_each_row(pool, normed, width, |row, normed| {
        let last = &hidden[batch.last_cell(row) * width..][..width];
        rms_norm(last, norm, eps, normed);
    });
    let logits = &mut state.logits[..batch_size * llama.vocab_size];
    weights.head().matmul(pool, normed, batch_size, logits);
    // ANCHOR_END: head
    logits
}
