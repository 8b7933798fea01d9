//! An experiment: a cache that grows while the text does.
//!
//! A first cache often starts empty and concatenates each new position. For each layer, at each token, twice, that
//! allocates memory of the new size, copies everything that was there, adds one position and frees the old memory. The
//! work of a step grows with the length again, this time in bytes.
//!
//! A growing `Vec` is in between: it doubles its room when it is full, so it copies rarely. It still allocates in the
//! middle of a text, and may hold twice the memory that is needed.

use crate::error::CacheError;
use crate::forward::{check_chunk, reserve, run_layers};
use crate::memory::kv_bytes;
use crate::offset::row_place;
use generation::attention::{KvView, attend_rows};
use generation::forward::last_logits;
use generation::{Model, State};
use lab::ledger;
use layout::pool::Pool;
use training::{LlamaConfig, TokenId};

/// How a [`GrowingCache`] makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// To exactly the new length, each time: `concat`.
    Exact,
    /// To twice the room, when it is full: `Vec::push`.
    Doubling,
}

/// Keys and values of one sequence, `[positions, num_kv_heads, head_dim]` for each layer, in memory that grows.
pub struct GrowingCache {
    /// `[num_layers][positions, num_kv_heads, head_dim]`.
    k: Vec<Vec<f32>>,
    /// The values, in the same shape.
    v: Vec<Vec<f32>>,
    growth: Growth,
    /// Number of positions that all layers hold.
    len: usize,
    q_size: usize,
    kv_size: usize,
    head_dim: usize,
}

impl GrowingCache {
    /// An empty cache without room for any position.
    pub fn new(config: &LlamaConfig, growth: Growth) -> GrowingCache {
        GrowingCache {
            k: vec![Vec::new(); config.num_layers],
            v: vec![Vec::new(); config.num_layers],
            growth,
            len: 0,
            q_size: config.q_size(),
            kv_size: config.kv_size(),
            head_dim: config.head_dim,
        }
    }

    // ANCHOR: concat
    /// Appends keys and values of new rows to one layer. Shape: `qkv` `[rows, (num_heads + 2 num_kv_heads) head_dim]`.
    /// Cost: for [`Growth::Exact`] all old positions are copied.
    ///
    /// # Panics
    /// If `qkv` does not hold whole rows.
    pub fn append(&mut self, layer: usize, qkv: &[f32]) {
        let (q_size, kv_size) = (self.q_size, self.kv_size);
        let width = q_size + 2 * kv_size;
        assert!(qkv.len().is_multiple_of(width));
        let new = qkv.len() / width * kv_size;
        for (rows, first) in [(&mut self.k[layer], q_size), (&mut self.v[layer], q_size + kv_size)] {
            make_room(rows, new, self.growth);
            for row in qkv.chunks_exact(width) {
                rows.extend_from_slice(&row[first..][..kv_size]);
            }
        }
        ledger::count(|l| l.add("kv_bytes_written", kv_bytes(1, 1, 1, new, 1, 4)));
    }
    // ANCHOR_END: concat

    /// Keeps the `rows` positions that every layer has appended.
    pub fn advance(&mut self, rows: usize) {
        self.len += rows;
    }

    /// Keys and values of one head, up to a row that sees `context_len` positions.
    fn view(&self, layer: usize, kv_head: usize, context_len: usize) -> KvView<'_> {
        KvView {
            k: &self.k[layer][kv_head * self.head_dim..],
            v: &self.v[layer][kv_head * self.head_dim..],
            kv_stride: self.kv_size,
            context_len,
        }
    }
}

/// Makes room for `new` more numbers, and counts the bytes that this copies.
fn make_room(rows: &mut Vec<f32>, new: usize, growth: Growth) {
    let needed = rows.len() + new;
    let room = match growth {
        Growth::Exact => needed,
        Growth::Doubling if needed <= rows.capacity() => return,
        Growth::Doubling => needed.max(2 * rows.capacity()),
    };
    let mut grown = Vec::with_capacity(room);
    grown.extend_from_slice(rows);
    let moved = size_of_val(rows.as_slice()) as u64;
    ledger::count(|l| l.add("kv_bytes_copied", moved));
    *rows = grown;
}

/// As [`crate::forward::forward`], over a cache that grows. Shape: `[vocab_size]`.
///
/// # Errors
/// As there, except that this cache is never full.
pub fn forward<'s>(
    model: &Model,
    state: &'s mut State,
    cache: &mut GrowingCache,
    pool: &Pool,
    tokens: &[TokenId],
) -> Result<&'s [f32], CacheError> {
    let (config, weights, num_cached) = (&model.config, &model.weights, cache.len);
    let llama = &config.llama;
    check_chunk(llama, num_cached, tokens)?;
    reserve(config, state, pool, tokens.len(), llama.max_seq_len);
    let mut attention = |layer: usize, qkv: &[f32], scores: &mut Vec<f32>, out: &mut [f32]| {
        cache.append(layer, qkv);
        let view = |row, kv_head| cache.view(layer, kv_head, row_place(num_cached, row).context_len);
        attend_rows(pool, llama, qkv, &view, scores, out);
    };
    run_layers(config, weights, state, pool, tokens, num_cached, &mut attention);
    cache.advance(tokens.len());
    Ok(last_logits(config, weights, state, pool, tokens.len()))
}
