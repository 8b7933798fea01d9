//! The network whose memory is counted: layers of `tanh(x W)`, each with a weight of its own.

use ndarray::{ArrayD, IxDyn};

use crate::checkpoint::checkpoint;
use crate::error::Result;
use crate::tensor::Tensor;

/// Layers of one width and the rows that go through them.
pub struct Deep {
    /// One weight `[hidden_size, hidden_size]` for each layer.
    weights: Vec<Tensor<f32>>,
    /// The rows `[num_rows, hidden_size]` that enter the first layer.
    rows: Tensor<f32>,
}

impl Deep {
    /// All weights and all rows have equal elements: what is counted here does not depend on them.
    pub fn new(num_layers: usize, num_rows: usize, hidden_size: usize) -> Self {
        let filled = |rows, value| ArrayD::from_elem(IxDyn(&[rows, hidden_size]), value);
        Self {
            weights: (0..num_layers)
                .map(|_| Tensor::parameter(filled(hidden_size, 0.1)))
                .collect(),
            rows: Tensor::new(filled(num_rows, 0.5)),
        }
    }

    /// Bytes of all weights.
    pub fn weight_bytes(&self) -> usize {
        self.weights.iter().map(|weight| weight.len() * size_of::<f32>()).sum()
    }

    /// All layers, each on the tape.
    ///
    /// # Errors
    /// Never: the shapes fit.
    pub fn forward(&self) -> Result<Tensor<f32>> {
        through(&self.weights, &self.rows)
    }

    /// All layers, of which the tape keeps one value for each `segment` layers ([`checkpoint`]).
    ///
    /// # Errors
    /// Never: the shapes fit.
    ///
    /// # Panics
    /// If `segment` is 0.
    pub fn forward_in_segments(&self, segment: usize) -> Result<Tensor<f32>> {
        self.weights.chunks(segment).try_fold(self.rows.clone(), |x, weights| {
            let parameters: Vec<_> = weights.iter().collect();
            let weights = weights.to_vec();
            checkpoint(&x, &parameters, move |x| through(&weights, x))
        })
    }

    /// The gradients of all weights, moved out.
    pub fn take_gradients(&self) -> Vec<ArrayD<f32>> {
        self.weights.iter().filter_map(Tensor::take_grad).collect()
    }
}

fn through(weights: &[Tensor<f32>], x: &Tensor<f32>) -> Result<Tensor<f32>> {
    let layer = |x: Tensor<f32>, weight| Ok(x.matmul(weight)?.tanh());
    weights.iter().try_fold(x.clone(), layer)
}
