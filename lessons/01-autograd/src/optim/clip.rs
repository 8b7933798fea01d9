//! A limit for the size of a step, so that one bad batch does not ruin the parameters.

use crate::real::Real;
use crate::tensor::Tensor;

/// Scales all gradients by one factor so that their common Euclidean norm is at most `max_norm`, and returns the norm
/// from before. One factor for all keeps the direction of the step.
///
/// The norm is summed in `f64`. Cost: one pass to read, one more to write when it is too large.
/// Source: Pascanu et al. 2013, arXiv:1211.5063, section 3.2.
pub fn clip_grad_norm<T: Real>(parameters: &[Tensor<T>], max_norm: f64) -> f64 {
    let square_sum: f64 = parameters
        .iter()
        .filter_map(Tensor::grad)
        .map(|gradient| square_norm(&gradient))
        .sum();
    let norm = square_sum.sqrt();
    if norm > max_norm {
        let factor = T::of(max_norm / norm);
        for node in parameters.iter().filter_map(|parameter| parameter.node.as_ref()) {
            if let Some(gradient) = node.grad.borrow_mut().as_mut() {
                gradient.mapv_inplace(|g| g * factor);
            }
        }
    }
    norm
}

/// The sum of squares, in eight partial sums so that the additions do not wait for each other.
fn square_norm<T: Real>(gradient: &ndarray::ArrayD<T>) -> f64 {
    let slice = gradient.as_slice().expect("gradients are row-major");
    let mut sums = [0.0_f64; 8];
    let mut eights = slice.chunks_exact(8);
    for eight in &mut eights {
        for (sum, &g) in sums.iter_mut().zip(eight) {
            *sum += g.as_f64() * g.as_f64();
        }
    }
    let tail: f64 = eights.remainder().iter().map(|g| g.as_f64() * g.as_f64()).sum();
    sums.iter().sum::<f64>() + tail
}
