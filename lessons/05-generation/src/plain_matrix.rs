//! The definition of a linear layer, three loops long: the oracle of the tests. Slow.

use crate::weights::Linear;
use layout::pool::Pool;

/// A row-major matrix of f32, multiplied by plain loops.
#[derive(Clone, Debug)]
pub struct PlainMatrix {
    weights: Vec<f32>,
    in_features: usize,
}

impl PlainMatrix {
    /// Copies row-major weights `[out_features, in_features]`.
    ///
    /// # Panics
    /// If the slice has another length.
    pub fn from_f32(weights: &[f32], out_features: usize, in_features: usize) -> PlainMatrix {
        assert_eq!(weights.len(), out_features * in_features);
        PlainMatrix {
            weights: weights.to_vec(),
            in_features,
        }
    }
}

impl Linear for PlainMatrix {
    fn out_features(&self) -> usize {
        self.weights.len() / self.in_features
    }

    fn in_features(&self) -> usize {
        self.in_features
    }

    fn bytes(&self) -> usize {
        4 * self.weights.len()
    }

    fn matmul(&self, _pool: &Pool, x: &[f32], rows: usize, out: &mut [f32]) {
        assert_eq!(x.len(), rows * self.in_features);
        assert_eq!(out.len(), rows * self.out_features());
        let outs = out.chunks_exact_mut(self.out_features());
        for (x, out) in x.chunks_exact(self.in_features).zip(outs) {
            for (out, weights) in out.iter_mut().zip(self.weights.chunks_exact(self.in_features)) {
                *out = x.iter().zip(weights).fold(0.0, |sum, (x, w)| x.mul_add(*w, sum));
            }
        }
    }

    fn row(&self, i: usize, out: &mut [f32]) {
        out.copy_from_slice(&self.weights[i * self.in_features..][..self.in_features]);
    }
}
