//! What a pass over a batch costs, counted from shapes.

use crate::batch::PaddedBatch;
use generation::work::Work;
use generation::{Linear, Weights};
use training::LlamaConfig;

/// Work of [`crate::forward::forward`] over this batch.
pub fn of_batch<L: Linear>(config: &LlamaConfig, weights: &Weights<L>, batch: &PaddedBatch) -> Work {
    let pairs = batch.context_len().iter().map(|len| *len as u64).sum();
    let bytes = weights.bytes_per_pass();
    of_cells(config, bytes, batch.batch_size(), batch.cells(), pairs)
}

/// Work of one step of decoding. `context_len` has for each row the number of positions that it attends to, itself
/// included; 0 for a row that is done.
pub fn of_step(config: &LlamaConfig, weight_bytes: u64, context_len: &[usize]) -> Work {
    let pairs = context_len.iter().map(|len| *len as u64).sum();
    let rows = context_len.len();
    of_cells(config, weight_bytes, rows, rows, pairs)
}

/// Work of the first pass over prompts of these lengths, padded to `width`.
pub fn of_prefill(config: &LlamaConfig, weight_bytes: u64, lengths: &[usize], width: usize) -> Work {
    let pairs = lengths.iter().map(|len| (len * (len + 1) / 2) as u64).sum();
    let batch_size = lengths.len();
    of_cells(config, weight_bytes, batch_size, batch_size * width, pairs)
}

/// Every cell goes through the layers' products, padding too. The head multiplies one cell of each row. Attention works
/// on the `pairs` of a cell and a position that it sees; padding has none. Each weight is read once for all cells:
/// `weight_bytes` is [`Weights::bytes_per_pass`]. (An embedding row for each further cell is left out: `hidden_size`
/// numbers beside millions.)
fn of_cells(config: &LlamaConfig, weight_bytes: u64, batch_size: usize, cells: usize, pairs: u64) -> Work {
    let head = (config.vocab_size * config.hidden_size) as u64;
    let layers_per_cell = Work::of_shape(config, 1).linear_multiply_adds - head;
    Work {
        linear_multiply_adds: cells as u64 * layers_per_cell + batch_size as u64 * head,
        attention_multiply_adds: 2 * pairs * (config.num_layers * config.q_size()) as u64,
        weight_bytes,
    }
}
