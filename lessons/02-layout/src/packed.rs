//! Weights packed once, in the order in which the product reads them: what inference calls.

use crate::pool::Pool;
use crate::simd::Isa;
use half::bf16;

/// How the weights are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightType {
    /// Four bytes a weight.
    F32,
    /// Two bytes a weight, widened to f32 in a register; sums are f32.
    Bf16,
}

/// A weight matrix `[out_features, in_features]`, packed for y = x Wᵀ.
pub struct PackedMatrix {
    out_features: usize,
    in_features: usize,
    data: Data,
}

enum Data {
    F32(Vec<f32>),
    Bf16(Vec<bf16>),
}

impl PackedMatrix {
    /// Packs row-major f32 weights `[out_features, in_features]`.
    ///
    /// # Panics
    /// If the slice has another length.
    pub fn from_f32(weights: &[f32], out_features: usize, in_features: usize) -> PackedMatrix {
        assert_eq!(weights.len(), out_features * in_features);
        PackedMatrix {
            out_features,
            in_features,
            data: Data::F32(weights.to_vec()),
        }
    }

    /// Packs row-major bf16 weights `[out_features, in_features]`; they stay bf16.
    ///
    /// # Panics
    /// If the slice has another length.
    pub fn from_bf16(weights: &[bf16], out_features: usize, in_features: usize) -> PackedMatrix {
        assert_eq!(weights.len(), out_features * in_features);
        PackedMatrix {
            out_features,
            in_features,
            data: Data::Bf16(weights.to_vec()),
        }
    }

    /// Rows of W, columns of y.
    pub fn out_features(&self) -> usize {
        self.out_features
    }

    /// Columns of W and of x.
    pub fn in_features(&self) -> usize {
        self.in_features
    }

    /// How the weights are kept.
    pub fn dtype(&self) -> WeightType {
        match self.data {
            Data::F32(_) => WeightType::F32,
            Data::Bf16(_) => WeightType::Bf16,
        }
    }

    /// Bytes that one product reads: all weights, once.
    pub fn bytes(&self) -> usize {
        let width = match self.dtype() {
            WeightType::F32 => 4,
            WeightType::Bf16 => 2,
        };
        self.out_features * self.in_features * width
    }

    /// Unpacks row `i` of W: the embedding of token `i` where the embedding and the head share their weights.
    ///
    /// # Panics
    /// If there is no such row or `out` is not `[in_features]`.
    pub fn row(&self, i: usize, out: &mut [f32]) {
        assert!(i < self.out_features && out.len() == self.in_features);
        let at = i * self.in_features;
        for (k, out) in out.iter_mut().enumerate() {
            *out = match &self.data {
                Data::F32(w) => w[at + k],
                Data::Bf16(w) => w[at + k].to_f32(),
            };
        }
    }

    /// y = x Wᵀ for any number of rows. Shapes: `x` `[rows, in_features]`, `out` `[rows, out_features]`, overwritten.
    /// Each row's result has the same bits whatever the other rows, the threads and the instruction set.
    ///
    /// # Panics
    /// If a slice has another length.
    pub fn matmul(&self, pool: &Pool, x: &[f32], rows: usize, out: &mut [f32]) {
        self.matmul_with(Isa::detect(), pool, x, rows, out);
    }

    /// [`PackedMatrix::matmul`] with a chosen instruction set (tests and races).
    pub fn matmul_with(&self, _isa: Isa, _pool: &Pool, x: &[f32], rows: usize, out: &mut [f32]) {
        assert_eq!(x.len(), rows * self.in_features);
        assert_eq!(out.len(), rows * self.out_features);
        for r in 0..rows {
            for j in 0..self.out_features {
                let mut sum = 0.0f32;
                for k in 0..self.in_features {
                    let w = match &self.data {
                        Data::F32(w) => w[j * self.in_features + k],
                        Data::Bf16(w) => w[j * self.in_features + k].to_f32(),
                    };
                    sum = x[r * self.in_features + k].mul_add(w, sum);
                }
                out[r * self.out_features + j] = sum;
            }
        }
    }
}
