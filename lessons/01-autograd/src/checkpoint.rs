//! Keep or recompute: a part of a network of which the tape keeps only the input.
//!
//! The tape keeps every value that backward will read. A *checkpointed* segment runs without a tape, so its inner
//! values are freed at once. When the gradient of its output comes back, the segment runs a second time, now with a
//! tape, and the backward pass goes through that one. It costs one more forward pass of the segment.

use crate::error::Result;
use crate::real::Real;
use crate::tape::{Saved, custom_op, no_grad};
use crate::tensor::Tensor;

/// The output of `segment` at `x`; the tape keeps `x` and nothing of what the segment computes in between.
/// `parameters` are the tensors that the segment uses beside `x` and that want a gradient.
///
/// Cost: the segment's forward pass once more in the backward pass, and its inner values while that goes through it.
/// Source: Chen et al. 2016, *Training Deep Nets with Sublinear Memory Cost*, arXiv:1604.06174.
///
/// # Errors
/// Those of `segment`. In the backward pass also when `x` or a parameter was changed in place in between: the segment
/// would compute other values.
// ANCHOR: checkpoint
pub fn checkpoint<T: Real>(
    x: &Tensor<T>,
    parameters: &[&Tensor<T>],
    segment: impl Fn(&Tensor<T>) -> Result<Tensor<T>> + 'static,
) -> Result<Tensor<T>> {
    let value = no_grad(|| segment(x))?.value().clone();
    let inputs = [&[x], parameters].concat();
    let saved: Vec<Saved<T>> = inputs.iter().map(|input| Saved::new(input)).collect();
    let start = x.detach();
    Ok(custom_op("checkpoint", &inputs, value, move |upstream| {
        saved.iter().try_for_each(|saved| saved.read().map(drop))?;
        let start = start.requires_grad();
        // This pass leaves the gradients of the parameters in them; only that of `x` is still to be sent on.
        segment(&start)?.backward_with(upstream.clone())?;
        let mut gradients = vec![None; saved.len()];
        gradients[0] = start.take_grad();
        Ok(gradients)
    }))
}
// ANCHOR_END: checkpoint
