//! What a pass over a chunk costs, counted from shapes.

use generation::work::Work;
use training::LlamaConfig;

/// Pairs of a new row and a position that it sees: `rows` rows after `num_cached` positions.
pub fn visible_pairs(num_cached: usize, rows: usize) -> u64 {
    let (num_cached, rows) = (num_cached as u64, rows as u64);
    rows * num_cached + rows * (rows + 1) / 2
}

/// Work of [`crate::forward::forward`] over `rows` tokens after `num_cached`: every layer on the new rows, attention over all positions,
/// the head on the last row. No bytes of weights, which depend on how they are stored.
pub fn of_chunk(config: &LlamaConfig, num_cached: usize, rows: usize) -> Work {
    let attention = 2 * (config.num_layers * config.q_size()) as u64;
    Work {
        attention_multiply_adds: attention * visible_pairs(num_cached, rows),
        ..Work::of_shape(config, rows)
    }
}

/// Rows that `steps` steps of the cached loop compute after a prompt: the prompt once, and one for each step after the first.
pub fn rows_of_cached_loop(prompt_tokens: u64, steps: u64) -> u64 {
    match steps {
        0 => 0,
        _ => prompt_tokens + steps - 1,
    }
}
