//! An experiment: attention over the whole preallocated length, with a mask.
//!
//! A framework that compiles a pass for fixed shapes can not let attention grow with the text. It scores each row
//! against every position that the cache has room for, and adds a matrix of zeros and minus infinities
//! ([`crate::mask`]) that hides what the row may not see. The bits are those of [`crate::forward`], where attention
//! stops at a length. The work is that of a full cache from the first token on.

use crate::cache::ContiguousCache;
use crate::error::CacheError;
use crate::forward::{check_chunk, reserve, run_layers};
use crate::mask::chunk_mask;
use generation::forward::last_logits;
use generation::layer::for_each_row;
use generation::{Model, State, lanes};
use lab::ledger;
use layout::pool::Pool;
use training::{LlamaConfig, TokenId};

/// As [`crate::forward::forward`], with a mask over the cache's capacity instead of a length. Shape: `[vocab_size]`.
/// Allocates mask and scratch in each pass: the experiment counts work and is not meant to be fast.
///
/// # Errors
/// As [`crate::forward::forward`].
pub fn forward<'s>(
    model: &Model,
    state: &'s mut State,
    cache: &mut ContiguousCache,
    pool: &Pool,
    tokens: &[TokenId],
) -> Result<&'s [f32], CacheError> {
    let (config, weights) = (&model.config, &model.weights);
    let llama = &config.llama;
    let (num_cached, rows, capacity) = (cache.len(), tokens.len(), cache.capacity());
    check_chunk(llama, num_cached, tokens)?;
    cache.check_room(rows)?;
    reserve(config, state, pool, rows, num_cached + rows);
    let mut mask = vec![0.0; rows * capacity];
    chunk_mask(num_cached, rows, capacity, &mut mask);
    let mut attention = |layer: usize, qkv: &[f32], _: &mut Vec<f32>, out: &mut [f32]| {
        cache.append(layer, qkv);
        attend_masked(pool, llama, cache, layer, qkv, &mask, out);
    };
    run_layers(config, weights, state, pool, tokens, num_cached, &mut attention);
    cache.advance(rows);
    Ok(last_logits(config, weights, state, pool, rows))
}

/// Attention of each row over every place of the cache. Shapes: `qkv` `[rows, (num_heads + 2 num_kv_heads) head_dim]`,
/// `mask` `[rows, capacity]`, `attended` `[rows, num_heads head_dim]`. Cost: 2 · rows · capacity · num_heads · head_dim
/// multiply-adds.
fn attend_masked(
    pool: &Pool,
    config: &LlamaConfig,
    cache: &ContiguousCache,
    layer: usize,
    qkv: &[f32],
    mask: &[f32],
    attended: &mut [f32],
) {
    let (head_dim, group) = (config.head_dim, config.group_size());
    let width = config.q_size() + 2 * config.kv_size();
    let (rows, capacity) = (qkv.len() / width, cache.capacity());
    ledger::count(|l| l.multiply_adds += 2 * (rows * capacity * config.q_size()) as u64);
    let scale = 1.0 / (head_dim as f32).sqrt();
    let ([k, v], strides) = (cache.layer(layer), cache.strides());
    let stride = strides.position;
    for_each_row(pool, attended, config.q_size(), |row, attended| {
        let mask = &mask[row * capacity..][..capacity];
        let mut scores = vec![0.0; group * capacity];
        for (kv_head, out) in attended.chunks_exact_mut(group * head_dim).enumerate() {
            let q = &qkv[row * width + kv_head * group * head_dim..][..group * head_dim];
            let first = kv_head * strides.head;
            let (k, v) = (&k[first..], &v[first..]);
            lanes::dots(q, head_dim, k, stride, capacity, scale, &mut scores, capacity);
            for weights in scores.chunks_exact_mut(capacity) {
                weights.iter_mut().zip(mask).for_each(|(score, hide)| *score += hide);
                lanes::softmax(weights);
            }
            out.fill(0.0);
            lanes::add_weighted(&scores, capacity, v, stride, capacity, head_dim, out);
        }
    });
}
