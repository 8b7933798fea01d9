//! A linear layer as the forward pass sees it.

use layout::packed::PackedMatrix;
use layout::pool::Pool;

/// A matrix of weights `[out_features, in_features]` that multiplies rows. The forward pass does not know how the
/// weights are stored.
pub trait Linear {
    /// Rows of the matrix: the length of an output row.
    fn out_features(&self) -> usize;

    /// Columns of the matrix: the length of an input row.
    fn in_features(&self) -> usize;

    /// Bytes of weights that one call of [`Linear::matmul`] reads.
    fn bytes(&self) -> usize;

    /// y = x Wᵀ for any number of rows. Shapes: `x` `[rows, in_features]`, `out` `[rows, out_features]`, overwritten.
    /// The bits of a row do not depend on the other rows or on the number of threads.
    ///
    /// # Panics
    /// If a slice has another length.
    fn matmul(&self, pool: &Pool, x: &[f32], rows: usize, out: &mut [f32]);

    /// Copies row `i` of the matrix: the embedding of token `i`. Shape: `out` `[in_features]`.
    ///
    /// # Panics
    /// If there is no such row, or `out` has another length.
    fn row(&self, i: usize, out: &mut [f32]);
}

impl Linear for PackedMatrix {
    fn out_features(&self) -> usize {
        self.out_features()
    }

    fn in_features(&self) -> usize {
        self.in_features()
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn matmul(&self, pool: &Pool, x: &[f32], rows: usize, out: &mut [f32]) {
        self.matmul(pool, x, rows, out);
    }

    fn row(&self, i: usize, out: &mut [f32]) {
        self.row(i, out);
    }
}

/// The definition of a linear layer in three loops: the oracle of the tests. Slow.
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
