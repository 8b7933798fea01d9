//! The network: two hidden layers of tanh, with or without a residual around the second.
//!
//! ```text
//! plain:     h = tanh(x W₁ + b₁)    g =     tanh(h W₂ + b₂)    scores = g W₃ + b₃
//! residual:  h = tanh(x W₁ + b₁)    g = h + tanh(h W₂ + b₂)    scores = g W₃ + b₃
//! ```
//! Weights stand as `[in, out]` here, for `x W` as textbooks write it. The house's `[out, in]` and `x Wᵀ` would need a
//! transpose on the tape, and on this tape a transpose is a copy, which would hide a weight that changes in place.
//!
//! Without the residual every value is used once. With it `h` is used twice, and that is all it takes to tell a right
//! backward pass from a wrong one.

use ndarray::{ArrayD, IxDyn};

use crate::error::Result;
use crate::real::Real;
use crate::spiral::uniform;
use crate::tensor::Tensor;

/// Whether the second layer's output is added to its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wiring {
    /// Every value is used once.
    Plain,
    /// The first layer's output is used twice.
    Residual,
}

impl Wiring {
    /// Name in charts and tables.
    pub fn name(self) -> &'static str {
        match self {
            Wiring::Plain => "plain",
            Wiring::Residual => "residual",
        }
    }
}

/// The six parameters. Shapes: `w1` `[2, hidden_size]`, `w2` `[hidden_size, hidden_size]`, `w3` `[hidden_size, 2]`,
/// each bias `[columns of its matrix]`.
pub struct Network<T: Real = f32> {
    wiring: Wiring,
    w1: Tensor<T>,
    b1: Tensor<T>,
    w2: Tensor<T>,
    b2: Tensor<T>,
    w3: Tensor<T>,
    b3: Tensor<T>,
}

impl<T: Real> Network<T> {
    /// Weights between plus and minus `scale / √rows`, the same for equal seeds in both wirings; biases likewise.
    pub fn new(wiring: Wiring, hidden_size: usize, seed: u64) -> Self {
        let parameter = |number: u64, rows: usize, shape: &[usize], scale: f64| {
            let len = shape.iter().product::<usize>() as u64;
            let first = number << 32;
            let values = (first..first + len).map(|i| T::of(scale * uniform(seed, i) / (rows as f64).sqrt()));
            Tensor::parameter(ArrayD::from_shape_vec(IxDyn(shape), values.collect()).expect("one value per place"))
        };
        let h = hidden_size;
        Self {
            wiring,
            // The plane is small and the arms are thin, so the first layer starts steep.
            w1: parameter(1, 2, &[2, h], 6.0),
            b1: parameter(2, 2, &[h], 3.0),
            w2: parameter(3, h, &[h, h], 1.7),
            b2: parameter(4, h, &[h], 1.0),
            w3: parameter(5, h, &[h, 2], 1.0),
            b3: parameter(6, h, &[2], 1.0),
        }
    }

    /// All parameters, the first layer's weight first.
    pub fn parameters(&self) -> Vec<Tensor<T>> {
        [&self.w1, &self.b1, &self.w2, &self.b2, &self.w3, &self.b3]
            .map(Clone::clone)
            .to_vec()
    }

    /// The first layer's weight: the parameter whose gradient passes through everything.
    pub fn first_weight(&self) -> &Tensor<T> {
        &self.w1
    }

    /// Scores `[num_points, 2]` for points `[num_points, 2]`.
    ///
    /// # Errors
    /// When `points` does not have two columns.
    pub fn forward(&self, points: &Tensor<T>) -> Result<Tensor<T>> {
        self.forward_by(Tensor::matmul, points)
    }

    /// [`forward`](Self::forward) with another matrix product, for the variants that are wrong.
    ///
    /// # Errors
    /// When `points` does not have two columns.
    pub fn forward_by(
        &self,
        matmul: impl Fn(&Tensor<T>, &Tensor<T>) -> Result<Tensor<T>>,
        points: &Tensor<T>,
    ) -> Result<Tensor<T>> {
        // ANCHOR: forward
        let h = matmul(points, &self.w1)?.add(&self.b1)?.tanh();
        let layer = matmul(&h, &self.w2)?.add(&self.b2)?.tanh();
        let g = match self.wiring {
            Wiring::Plain => layer,
            Wiring::Residual => h.add(&layer)?,
        };
        matmul(&g, &self.w3)?.add(&self.b3)
        // ANCHOR_END: forward
    }
}
