//! What a pass over a chunk costs, and a walk through the cache, counted from shapes.

use crate::place::CacheOrder;
use generation::work::Work;
use layout::lines::Cache;
use training::LlamaConfig;

/// Number of pairs of a new row and a position that it sees: `rows` rows after `num_cached` positions.
pub fn visible_pairs(num_cached: usize, rows: usize) -> u64 {
    let (num_cached, rows) = (num_cached as u64, rows as u64);
    rows * num_cached + rows * (rows + 1) / 2
}

/// Work of [`crate::forward::forward`] over `rows` tokens after `num_cached`: every layer on the new rows, attention
/// over all positions, the head on the last row. Bytes of weights are not counted: they depend on how the weights are
/// stored.
pub fn of_chunk(config: &LlamaConfig, num_cached: usize, rows: usize) -> Work {
    let attention = 2 * (config.num_layers * config.q_size()) as u64;
    Work {
        attention_multiply_adds: attention * visible_pairs(num_cached, rows),
        ..Work::of_shape(config, rows)
    }
}

/// Rows that `steps` steps of the cached loop compute after a prompt: the prompt once, and one row for each step after
/// the first.
pub fn rows_of_cached_loop(prompt_tokens: u64, steps: u64) -> u64 {
    match steps {
        0 => 0,
        _ => prompt_tokens + steps - 1,
    }
}

/// Cache lines, and runs of neighbouring lines, that a walk through the keys of one head fetches, by lesson 02's model
/// of a cache.
pub fn lines_and_runs(
    order: CacheOrder,
    positions: usize,
    num_kv_heads: usize,
    head_dim: usize,
    kv_head: usize,
) -> (u64, u64) {
    let strides = order.strides(positions, num_kv_heads, head_dim);
    let mut cache = Cache::default();
    for position in 0..positions {
        for number in 0..head_dim {
            cache.read(4 * (position * strides.position + kv_head * strides.head + number));
        }
    }
    (cache.lines_fetched(), cache.runs_fetched())
}
