//! Rules that hold their inputs and read them again when the gradient comes, without asking whether they are still
//! what they were. [`Saved`](crate::Saved) is the cure.

use ndarray::{ArrayD, Ix2};

use crate::error::Result;
use crate::exercises::matmul_backward;
use crate::real::Real;
use crate::tape::custom_op;
use crate::tensor::Tensor;

/// [`Tensor::mul`] for equal shapes, without the check: the gradient is that of whatever the operands hold by then.
///
/// # Errors
/// When the shapes do not broadcast.
pub fn unchecked_mul<T: Real>(x: &Tensor<T>, y: &Tensor<T>) -> Result<Tensor<T>> {
    let value = x.detach().mul(&y.detach())?.value().clone();
    let (held_x, held_y) = (x.detach(), y.detach());
    Ok(custom_op("unchecked_mul", &[x, y], value, move |upstream| {
        Ok(vec![
            Some(upstream * &*held_y.value()),
            Some(upstream * &*held_x.value()),
        ]) // the fault: no version is compared
    }))
}

/// [`Tensor::matmul`] of two matrices, without the check.
///
/// # Errors
/// When the shapes do not fit.
///
/// # Panics
/// In the backward pass, when an operand has more than two axes.
pub fn unchecked_matmul<T: Real>(a: &Tensor<T>, b: &Tensor<T>) -> Result<Tensor<T>> {
    let value = a.detach().matmul(&b.detach())?.value().clone();
    let (held_a, held_b) = (a.detach(), b.detach());
    let matrix = |x: &ArrayD<T>| x.view().into_dimensionality::<Ix2>().expect("a matrix").to_owned();
    Ok(custom_op("unchecked_matmul", &[a, b], value, move |upstream| {
        let (a, b) = (matrix(&held_a.value()), matrix(&held_b.value())); // the fault: no version is compared
        let (for_a, for_b) = matmul_backward(a.view(), b.view(), matrix(upstream).view());
        Ok(vec![Some(for_a.into_dyn()), Some(for_b.into_dyn())])
    }))
}
