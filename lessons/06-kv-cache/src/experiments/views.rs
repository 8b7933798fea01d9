//! An experiment: how attention learns where the keys are.
//!
//! A framework slices the cache for each layer at each step: `k_cache[layer, :, :len]`. In an interpreter that builds
//! and checks an object with shape and strides; passing the cache and an index avoids it. In Rust a view is two slices,
//! a stride and a length, made in registers where it is used ([`ContiguousCache::view`]). This module builds the same
//! view in the two ways that do cost something.

use crate::cache::{CacheOrder, ContiguousCache};
use crate::error::CacheError;
use crate::forward::{check_chunk, reserve, run_layers};
use crate::memory::kv_bytes;
use crate::offset::row_place;
use generation::attention::{KvView, attend_rows};
use generation::forward::last_logits;
use generation::{Model, State};
use lab::ledger;
use layout::layout::Layout;
use layout::pool::Pool;
use layout::view::View;
use training::TokenId;

/// How a layer's keys and values are shown to attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Showing {
    /// The cache and an index: a view is made where it is used.
    Index,
    /// Objects with shape and strides on the heap, new ones for each layer and step: lesson 02's [`Layout`].
    Objects,
    /// A dense copy of the visible positions, a new one for each layer and step: `.contiguous()` of a slice of
    /// `[heads, positions, head_dim]`, which has gaps.
    Copies,
}

/// As [`crate::forward::forward`], with the keys shown in a chosen way. Shape: `[vocab_size]`.
///
/// # Errors
/// As there.
pub fn forward<'s>(
    model: &Model,
    state: &'s mut State,
    cache: &mut ContiguousCache,
    pool: &Pool,
    tokens: &[TokenId],
    showing: Showing,
) -> Result<&'s [f32], CacheError> {
    let (config, weights) = (&model.config, &model.weights);
    let (llama, num_cached, rows) = (&config.llama, cache.len(), tokens.len());
    check_chunk(llama, num_cached, tokens)?;
    cache.check_room(rows)?;
    reserve(config, state, pool, rows, cache.capacity().min(llama.max_seq_len));
    let context_len = |row| row_place(num_cached, row).context_len;
    let mut attention = |layer: usize, qkv: &[f32], scores: &mut Vec<f32>, out: &mut [f32]| {
        cache.append(layer, qkv);
        let [k, v] = cache.layer(layer);
        match showing {
            Showing::Index => {
                let view = |row, kv_head| cache.view(layer, kv_head, context_len(row));
                attend_rows(pool, llama, qkv, &view, scores, out);
            }
            Showing::Objects => {
                let objects = heads_of(cache, llama.num_kv_heads, num_cached + rows);
                let view = |row, kv_head: usize| KvView {
                    k: &k[objects[kv_head][0].offset()..],
                    v: &v[objects[kv_head][1].offset()..],
                    kv_stride: objects[kv_head][0].strides()[0],
                    context_len: context_len(row),
                };
                attend_rows(pool, llama, qkv, &view, scores, out);
            }
            Showing::Copies => {
                let objects = heads_of(cache, llama.num_kv_heads, num_cached + rows).into_iter();
                let copy =
                    |[of_k, of_v]: [Layout; 2]| [View::new(k, of_k), View::new(v, of_v)].map(|o| o.to_contiguous());
                let copies: Vec<[Vec<f32>; 2]> = objects.map(copy).collect();
                let bytes = kv_bytes(1, llama.num_kv_heads, llama.head_dim, num_cached + rows, 1, 4);
                ledger::count(|l| l.add("kv_bytes_copied", bytes));
                let view = |row, kv_head: usize| KvView {
                    k: &copies[kv_head][0],
                    v: &copies[kv_head][1],
                    kv_stride: llama.head_dim,
                    context_len: context_len(row),
                };
                attend_rows(pool, llama, qkv, &view, scores, out);
            }
        }
    };
    run_layers(config, weights, state, pool, tokens, num_cached, &mut attention);
    cache.advance(rows);
    Ok(last_logits(config, weights, state, pool, rows))
}

/// Keys and values of each head as objects with shape and strides, `[context_len, head_dim]`: slices
/// `layer[:context_len, head]`, two for each head. Cost: some twenty small allocations a head.
fn heads_of(cache: &ContiguousCache, num_kv_heads: usize, context_len: usize) -> Vec<[Layout; 2]> {
    let (capacity, strides) = (cache.capacity(), cache.strides());
    let head_dim = strides.position.min(strides.head);
    let whole = || match cache.order() {
        CacheOrder::PositionMajor => Layout::row_major(&[capacity, num_kv_heads, head_dim]),
        CacheOrder::HeadMajor => Layout::row_major(&[num_kv_heads, capacity, head_dim]).transpose(0, 1),
    };
    let object = |head| whole().slice(0, 0..context_len, 1).select(1, head);
    (0..num_kv_heads).map(|head| [object(head), object(head)]).collect()
}
