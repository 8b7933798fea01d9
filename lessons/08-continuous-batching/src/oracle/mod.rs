//! The KV oracle: a model without weights that shows a slip of a cache as a wrong token, in microseconds. For tests of
//! this cache and of all later ones.
//!
//! A wrong position, a stale key, a slot given away twice: in a real model such a slip shifts some logits a little, and
//! often the same token wins all the same. Here every number that is read back counts. The oracle writes what it knows
//! of a row into the real cache through the real [`KvCache::append`], reads all of it back through the real
//! [`KvCache::attend`], and its next token is a hash of all that it read.
//!
//! ```text
//! h = token of each row
//! for each layer:
//!     k = (p, p²)   v = (h, p, layer and head, 1)        p: the row's position
//!     for each position j of the context: a query head that picks exactly j
//!     h = hash(h, everything that was read)
//! next token = h of the last row, modulo the vocabulary
//! ```
//!
//! How a query picks exactly one position: the query `(2jS, -S)` scores key `(p, p²)` with
//! `S (2jp - p²) = S j² - S (j - p)²`. That is largest at p = j, and every other position lies at least S below. S is
//! so large that all other weights are exactly zero, so the sum is the value of position j with all its bits. A head
//! that asks for a position after the row's own gets the row's own, because the context ends there. If the context were
//! too long, the head would read a later position, and the token would be wrong.
//!
//! What the oracle should say is also computed without any cache, by [`expected`]. [`play`] runs a plan of arrivals and
//! cancellations against an engine and compares, [`sweep`] many of them. [`listener`] and [`single`] are for tests with
//! a real model.

pub mod expected;
pub mod listener;
pub mod play;
pub mod single;
pub mod sweep;

use crate::batch::Batch;
use crate::cache::KvCache;
use crate::error::EngineError;
use crate::limits::EngineLimits;
use crate::runner::Runner;
use layout::pool::Pool;
use training::{LlamaConfig, TokenId};

/// Tokens of the oracle's vocabulary.
pub const VOCAB_SIZE: usize = 97;
/// Layers: two, so that what a row read in the first is what later rows read of it in the second.
pub const NUM_LAYERS: usize = 2;
/// Key and value heads.
pub const NUM_KV_HEADS: usize = 2;
/// Numbers of one head.
pub const HEAD_DIM: usize = 4;

/// A model without weights, for sequences of up to `max_seq_len` tokens.
pub struct Oracle<C> {
    /// The cache under test.
    pub cache: C,
    config: LlamaConfig,
    pool: Pool,
    /// `[rows]`: what the oracle knows of each row; below 2^24, so that an f32 holds it exactly.
    hidden: Vec<u32>,
    /// `[num_heads, head_dim]`: the same queries for every row.
    queries: Vec<f32>,
    qkv: Vec<f32>,
    attended: Vec<f32>,
    scores: Vec<f32>,
    logits: Vec<f32>,
}

impl<C: KvCache> Oracle<C> {
    /// An oracle over a cache, for contexts of up to `max_seq_len` tokens; [`config`] is the shape that the cache
    /// needs. Cost of a row: `max_seq_len` query heads for each key head and layer.
    ///
    /// # Panics
    /// Beyond 1024 tokens, where f32 can not keep positions apart any more.
    pub fn new(max_seq_len: usize, cache: C) -> Oracle<C> {
        assert!((1..=1024).contains(&max_seq_len));
        // A query head for each position and key head, so that every position is asked for.
        let config = config(max_seq_len);
        // ANCHOR: one_hot
        // Scores are divided by the root of head_dim, which is 2: neighbours of j lie 512 below it, and e^-512 is zero
        // in f32.
        const SHARPNESS: f32 = 1024.0;
        let picks = (0..max_seq_len).map(|j| [2.0 * SHARPNESS * j as f32, -SHARPNESS, 0.0, 0.0]);
        let of_one_head: Vec<f32> = picks.flatten().collect();
        // ANCHOR_END: one_hot
        Oracle {
            cache,
            queries: of_one_head.repeat(NUM_KV_HEADS),
            config,
            pool: Pool::new(1),
            hidden: Vec::new(),
            qkv: Vec::new(),
            attended: Vec::new(),
            scores: Vec::new(),
            logits: Vec::new(),
        }
    }

    /// Queries, keys and values of each row, for one layer.
    fn write_qkv(&mut self, layer: usize, batch: &Batch) {
        self.qkv.clear();
        for (hidden, position) in self.hidden.iter().zip(&batch.positions) {
            let p = *position as f32;
            // Queries do not depend on the row: every row asks for all positions.
            self.qkv.extend_from_slice(&self.queries);
            // Both key heads have the same keys; their values differ.
            for _ in 0..NUM_KV_HEADS {
                self.qkv.extend([p, p * p, 0.0, 0.0]);
            }
            for kv_head in 0..NUM_KV_HEADS {
                self.qkv.extend(value(*hidden, *position, layer, kv_head));
            }
        }
    }

    /// One row of logits for each sequence that wants one: 1 for the token that was found, 0 for all others.
    fn write_logits(&mut self, batch: &Batch) {
        self.logits.clear();
        for sequence in batch.sampling() {
            let first = self.logits.len();
            let token = token_of(self.hidden[sequence.last_row()]);
            self.logits.resize(first + VOCAB_SIZE, 0.0);
            // A greedy choice finds this token.
            self.logits[first + token.index()] = 1.0;
        }
    }
}

impl<C: KvCache> Runner for Oracle<C> {
    fn forward(&mut self, batch: &Batch) -> Result<&mut [f32], EngineError> {
        // As in the real pass: copies first, also for an empty batch.
        for (from, to) in &batch.copies {
            self.cache.copy(*from, *to);
        }
        if batch.is_empty() {
            return Ok(&mut []);
        }
        self.hidden.clear();
        self.hidden.extend(batch.tokens.iter().map(|token| token.0));
        let width = self.config.q_size();
        self.attended.resize(batch.num_rows() * width, 0.0);
        for layer in 0..NUM_LAYERS {
            self.write_qkv(layer, batch);
            self.cache.append(layer, batch, &self.qkv);
            self.cache.attend(
                &self.pool,
                &self.config,
                layer,
                batch,
                &self.qkv,
                &mut self.scores,
                &mut self.attended,
            );
            for (hidden, read) in self.hidden.iter_mut().zip(self.attended.chunks_exact(width)) {
                *hidden = mix(*hidden, read.iter().copied());
            }
        }
        self.write_logits(batch);
        Ok(&mut self.logits)
    }
}

/// The shape of an oracle for contexts of up to `max_seq_len` tokens: a query head for each position, for each key
/// head.
pub fn config(max_seq_len: usize) -> LlamaConfig {
    LlamaConfig {
        vocab_size: VOCAB_SIZE,
        hidden_size: 1,
        intermediate_size: 1,
        num_layers: NUM_LAYERS,
        num_heads: NUM_KV_HEADS * max_seq_len,
        num_kv_heads: NUM_KV_HEADS,
        head_dim: HEAD_DIM,
        max_seq_len,
        ..LlamaConfig::stories()
    }
}

/// Limits of an engine over an oracle: no cap on outputs, no token that ends a text.
pub fn limits(max_seq_len: usize, max_running: usize) -> EngineLimits {
    EngineLimits {
        max_running,
        max_new_tokens: usize::MAX,
        max_seq_len,
        vocab_size: VOCAB_SIZE,
        end_of_text: Vec::new(),
    }
}

/// What is stored as the value of a position.
fn value(hidden: u32, position: usize, layer: usize, kv_head: usize) -> [f32; HEAD_DIM] {
    // Layer and head are part of the value, so that a value of another layer or head is noticed.
    let place = layer * NUM_KV_HEADS + kv_head;
    [hidden as f32, position as f32, place as f32, 1.0]
}

/// What a row knows after it has read: 24 bits that depend on every bit and on the order of what it knew and read.
/// (FNV-1a over words.)
fn mix(hidden: u32, read: impl Iterator<Item = f32>) -> u32 {
    let start = (0xcbf2_9ce4_8422_2325 ^ u64::from(hidden)).wrapping_mul(0x100_0000_01b3);
    let step = |hash: u64, read: f32| (hash ^ u64::from(read.to_bits()) ^ hash >> 29).wrapping_mul(0x100_0000_01b3);
    // The highest 24 bits are the best mixed ones, and an f32 holds them exactly.
    (read.fold(start, step) >> 40) as u32
}

/// The token that follows a row.
fn token_of(hidden: u32) -> TokenId {
    TokenId(hidden % VOCAB_SIZE as u32)
}
