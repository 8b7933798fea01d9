//! Fixtures that several modules use.

use autograd::Tensor;
use ndarray::{ArrayD, IxDyn, arr0};

/// A parameter that is one number.
pub fn number(x: f64) -> Tensor<f64> {
    Tensor::parameter(arr0(x).into_dyn())
}

/// A parameter of this shape, all ones.
pub fn ones(shape: &[usize]) -> Tensor<f64> {
    Tensor::parameter(ArrayD::ones(IxDyn(shape)))
}

/// The gradient that the backward pass left in a single number.
#[track_caller]
pub fn gradient(x: &Tensor<f64>) -> f64 {
    x.grad().expect("a gradient")[IxDyn(&[])]
}

/// The same, moved out, so that the next walk starts without one.
#[track_caller]
pub fn take_gradient(x: &Tensor<f64>) -> f64 {
    x.take_grad().expect("a gradient")[IxDyn(&[])]
}
