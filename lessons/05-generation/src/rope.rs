//! Cosines and sines of the rotary embedding, computed once for each position.

use crate::kernels::inverse_frequencies;
use loading::config::ModelConfig;

/// A table of angles: row `p` holds the cosine and sine of `p` times each pair's angle.
#[derive(Debug)]
pub struct RopeTable {
    frequencies: Vec<f32>,
    cos: Vec<f32>,
    sin: Vec<f32>,
}

impl RopeTable {
    /// An empty table for a model's heads.
    pub fn new(config: &ModelConfig) -> RopeTable {
        let llama = &config.llama;
        RopeTable {
            frequencies: inverse_frequencies(llama.head_dim, llama.rope_theta, &config.rope_scaling),
            cos: Vec::new(),
            sin: Vec::new(),
        }
    }

    /// Number of positions in the table.
    pub fn num_positions(&self) -> usize {
        self.cos.len() / self.frequencies.len()
    }

    /// Adds the positions that are missing up to `num_positions`. Allocates only then.
    ///
    /// The angle is rounded to f32, as the models' training code does it, and only then its cosine is taken: at large positions
    /// the rounded angle is the one that the weights were trained with.
    pub fn reserve(&mut self, num_positions: usize) {
        // ANCHOR: angles
        for position in self.num_positions()..num_positions {
            for frequency in &self.frequencies {
                let (sin, cos) = f64::from(position as f32 * frequency).sin_cos();
                self.cos.push(cos as f32);
                self.sin.push(sin as f32);
            }
        }
        // ANCHOR_END: angles
    }

    /// Bytes of the table.
    pub fn bytes(&self) -> usize {
        4 * (self.frequencies.len() + self.cos.len() + self.sin.len())
    }

    /// Cosines and sines of a position, each `[head_dim / 2]`.
    ///
    /// # Panics
    /// If the position was not reserved.
    pub fn row(&self, position: usize) -> (&[f32], &[f32]) {
        let pairs = self.frequencies.len();
        let row = position * pairs..(position + 1) * pairs;
        (&self.cos[row.clone()], &self.sin[row])
    }
}
