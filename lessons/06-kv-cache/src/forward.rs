//! The forward pass over new rows only: everything before them is in the cache.
//!
//! ```text
//! x = embedding of each new token                                    [rows, hidden_size]
//! for each layer:
//!     q, k, v = norm(x) Wqkv;  turn q and k by their position, counted from the beginning of the text
//!     append k and v to the cache
//!     x += attention(q, all k and v up to the row) Wo
//!     gate, up = norm(x) Wgate_up
//!     x += (silu(gate) * up) Wdown
//! logits = norm(x of the last row) Whead                             [vocab_size]
//! ```
//!
//! Supersedes [`generation::forward::forward`]. Two lines differ from lesson 05: a row's position begins at the number
//! of cached positions, and attention reads the cache. The kernels are the same, and so are the bits: however a text is
//! cut into chunks, the logits of its last row are those of one pass over all of it.
//!
//! A prompt is one call with many rows (*prefill*), each token after it a call with one row (*decode*). This file
//! treats them alike.

use crate::cache::ContiguousCache;
use crate::error::CacheError;
use crate::offset::row_place;
use generation::attention::{attend_rows, reserve_scores};
use generation::forward::{all_logits, last_logits};
use generation::layer::{add_rows, check_tokens, embed_rows, gate_rows, norm_rows, project_rows, rotate_rows};
use generation::state::Buffers;
use generation::weights::LayerWeights;
use generation::{GenerateError, Linear, State, Weights};
use lab::ledger;
use layout::pool::Pool;
use loading::config::ModelConfig;
use training::{LlamaConfig, TokenId};

/// Computes `tokens`, which follow the positions in `cache`, appends their keys and values, and returns the logits of
/// the token after the last one. Shape: `[vocab_size]`.
///
/// `cache` must have been filled by this model. Cost: see [`crate::work::of_chunk`]; allocates nothing after the first
/// chunk of this many rows with a cache of this capacity.
///
/// # Errors
/// No token, no room in the cache, a position outside the model's context, a token id outside the vocabulary. The cache
/// is unchanged then.
pub fn forward<'s, L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &'s mut State,
    cache: &mut ContiguousCache,
    pool: &Pool,
    tokens: &[TokenId],
) -> Result<&'s [f32], CacheError> {
    run_chunk(config, weights, state, cache, pool, tokens)?;
    Ok(last_logits(config, weights, state, pool, tokens.len()))
}

/// As [`forward`], with the head on every row: row `i` of `logits` predicts token `i + 1` of the chunk. Shape: `logits`
/// `[tokens, vocab_size]`.
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
    cache: &mut ContiguousCache,
    pool: &Pool,
    tokens: &[TokenId],
    logits: &mut [f32],
) -> Result<(), CacheError> {
    assert_eq!(logits.len(), tokens.len() * config.llama.vocab_size);
    run_chunk(config, weights, state, cache, pool, tokens)?;
    all_logits(config, weights, state, pool, tokens.len(), logits);
    Ok(())
}

// ANCHOR: pass
/// All layers over the new rows. Every check comes before the first layer, so a refused pass has written nothing.
fn run_chunk<L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &mut State,
    cache: &mut ContiguousCache,
    pool: &Pool,
    tokens: &[TokenId],
) -> Result<(), CacheError> {
    let llama = &config.llama;
    check_chunk(llama, cache.len(), tokens)?;
    cache.check_room(tokens.len())?;
    // The write index moves after the last layer: all layers see the same number of cached positions.
    let num_cached = cache.len();
    let most = cache.capacity().min(llama.max_seq_len);
    reserve(config, state, pool, tokens.len(), most);
    let mut attention = |layer: usize, qkv: &[f32], scores: &mut Vec<f32>, out: &mut [f32]| {
        // First append, then attend: a row sees itself.
        cache.append(layer, qkv);
        let view = |row, kv_head| cache.view(layer, kv_head, row_place(num_cached, row).context_len);
        attend_rows(pool, llama, qkv, &view, scores, out);
    };
    run_layers(config, weights, state, pool, tokens, num_cached, &mut attention);
    cache.advance(tokens.len());
    Ok(())
}
// ANCHOR_END: pass

/// The attention of a layer over its new rows: `(layer, qkv, scores, attended)`, where `scores` is scratch. Shapes:
/// `qkv` `[rows, (num_heads + 2 num_kv_heads) head_dim]`, `attended` `[rows, num_heads head_dim]`.
pub type Attention<'a> = dyn FnMut(usize, &[f32], &mut Vec<f32>, &mut [f32]) + 'a;

/// Embedding and all layers over `tokens`, the first of which stands at position `num_cached`; leaves the residual
/// stream in `state.hidden`. `attention` decides where keys and values are kept, so that [`crate::experiments`] can
/// keep them elsewhere.
///
/// # Panics
/// If the tokens are outside the vocabulary or the state has no room: see [`check_chunk`] and [`reserve`].
pub fn run_layers<L: Linear>(
    config: &ModelConfig,
    weights: &Weights<L>,
    state: &mut State,
    pool: &Pool,
    tokens: &[TokenId],
    num_cached: usize,
    attention: &mut Attention<'_>,
) {
    let numbers = tokens.len() * config.llama.hidden_size;
    embed_rows(weights, tokens, &mut state.hidden[..numbers]);
    for (index, layer) in weights.layers.iter().enumerate() {
        let (llama, rows) = (&config.llama, tokens.len());
        run_layer(llama, index, layer, state, pool, rows, num_cached, attention);
    }
    ledger::count(|l| {
        l.steps += 1;
        l.add("positions", tokens.len() as u64);
    });
}

/// One layer over the first `rows` rows of the residual stream, in place.
fn run_layer<L: Linear>(
    config: &LlamaConfig,
    index: usize,
    layer: &LayerWeights<L>,
    state: &mut State,
    pool: &Pool,
    rows: usize,
    num_cached: usize,
    attention: &mut Attention<'_>,
) {
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
    let position_of = |row| row_place(num_cached, row).position;

    // ANCHOR: layer
    norm_rows(pool, config, hidden, &layer.attention_norm, normed);
    project_rows(pool, config, layer, normed, rows, qkv);
    rotate_rows(pool, config, rope, position_of, qkv);
    attention(index, qkv, scores, attended);
    layer.attention_out.matmul(pool, attended, rows, delta);
    add_rows(pool, config, delta, hidden);

    norm_rows(pool, config, hidden, &layer.mlp_norm, normed);
    layer.gate_up.matmul(pool, normed, rows, gate_up);
    gate_rows(pool, config, gate_up, gated);
    layer.down.matmul(pool, gated, rows, delta);
    add_rows(pool, config, delta, hidden);
    // ANCHOR_END: layer
}

/// Refuses an empty chunk, positions outside the model's context, and ids outside the vocabulary.
///
/// # Errors
/// [`CacheError::Generate`] or [`CacheError::PastContext`].
pub fn check_chunk(config: &LlamaConfig, num_cached: usize, tokens: &[TokenId]) -> Result<(), CacheError> {
    if tokens.is_empty() {
        return Err(GenerateError::EmptyPrompt.into());
    }
    if num_cached + tokens.len() > config.max_seq_len {
        return Err(CacheError::PastContext {
            len: num_cached,
            new: tokens.len(),
            max_seq_len: config.max_seq_len,
        });
    }
    Ok(check_tokens(config, tokens)?)
}

/// Makes room for a chunk of `rows` rows of a text of at most `positions` positions. The first pass makes all room that
/// decoding will need, so that no later step allocates.
pub fn reserve(config: &ModelConfig, state: &mut State, pool: &Pool, rows: usize, positions: usize) {
    state.reserve(config, rows);
    state.reserve_positions(positions);
    reserve_scores(pool, &config.llama, rows, positions, &mut state.scores);
}
