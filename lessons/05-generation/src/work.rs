//! The work of a forward pass, counted from shapes.

use crate::weights::{Linear, Weights};
use serde::Serialize;
use training::LlamaConfig;

/// Multiply-adds and bytes of one forward pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Multiply-adds of the matrix products, head included.
    pub linear_multiply_adds: u64,
    /// Multiply-adds of attention: scores and weighted values.
    pub attention_multiply_adds: u64,
    /// Bytes of weights. Each is read once, whatever the number of rows.
    pub weight_bytes: u64,
}

impl Work {
    /// Work of [`crate::forward::forward`] over `rows` tokens: every layer on every row, the head on the last row.
    pub fn of_forward<L: Linear>(config: &LlamaConfig, weights: &Weights<L>, rows: usize) -> Work {
        Work {
            weight_bytes: weights.bytes_per_pass(),
            ..Work::of_shape(config, rows)
        }
    }

    /// As [`Work::of_forward`] for a shape alone. `weight_bytes` is zero, because it depends on how the weights are
    /// stored.
    pub fn of_shape(config: &LlamaConfig, rows: usize) -> Work {
        let norms = config.hidden_size * (2 * config.num_layers + 1);
        let per_row = (config.num_layer_parameters() - norms) as u64;
        let head = (config.vocab_size * config.hidden_size) as u64;
        let rows = rows as u64;
        // Row i sees i + 1 positions.
        let pairs = rows * (rows + 1) / 2;
        Work {
            linear_multiply_adds: rows * per_row + head,
            attention_multiply_adds: 2 * pairs * (config.num_layers * config.q_size()) as u64,
            weight_bytes: 0,
        }
    }

    /// All multiply-adds.
    pub fn multiply_adds(&self) -> u64 {
        self.linear_multiply_adds + self.attention_multiply_adds
    }

    /// Multiply-adds for each byte of weights read.
    pub fn multiply_adds_per_byte(&self) -> f64 {
        self.multiply_adds() as f64 / self.weight_bytes as f64
    }
}
