//! Sums that stay right however long they are.
//!
//! An `f32` holds whole numbers up to 2²⁴. A running `f32` sum of ones stops there, because 16 777 216 + 1 rounds back
//! to 16 777 216, and a sum of other numbers loses digits in the same way. So at most [`BLOCK`] terms are added in the
//! element type, and the sums of the blocks are added in `f64`. A sum of one block has the bits of the plain loop.

use ndarray::{ArrayD, ArrayView1, ArrayViewD, Axis, RemoveAxis};

use crate::exercises::sum_to_shape;
use crate::real::Real;

/// Number of terms that are added in the element type.
pub(crate) const BLOCK: usize = 1024;

/// The sum of terms that come one by one, in their order.
pub(crate) fn sum_of<T: Real>(terms: impl IntoIterator<Item = T>) -> T {
    let (mut total, mut block, mut left) = (0.0, T::zero(), BLOCK);
    for term in terms {
        if left == 0 {
            total += block.as_f64();
            (block, left) = (T::zero(), BLOCK);
        }
        block += term;
        left -= 1;
    }
    T::of(total + block.as_f64())
}

/// The sum of the elements of a row-major array.
pub(crate) fn sum_all<T: Real>(x: &ArrayD<T>) -> T {
    match x.as_slice() {
        Some(x) => T::of(
            x.chunks(BLOCK)
                .map(|block| ArrayView1::from(block).sum().as_f64())
                .sum(),
        ),
        None => sum_of(x.iter().copied()),
    }
}

/// The sum of one lane.
pub(crate) fn sum_lane<T: Real>(lane: ArrayView1<'_, T>) -> T {
    T::of(
        lane.axis_chunks_iter(Axis(0), BLOCK)
            .map(|block| block.sum().as_f64())
            .sum(),
    )
}

/// The sum along one axis, which disappears.
pub(crate) fn sum_along<T: Real>(x: ArrayViewD<'_, T>, axis: Axis) -> ArrayD<T> {
    if x.len_of(axis) <= BLOCK {
        return x.sum_axis(axis);
    }
    let mut total = ArrayD::<f64>::zeros(x.raw_dim().remove_axis(axis));
    for block in x.axis_chunks_iter(axis, BLOCK) {
        total.zip_mut_with(&block.sum_axis(axis), |total, block| *total += block.as_f64());
    }
    total.mapv(T::of)
}

/// [`sum_to_shape`], in `f64` where an element of the result is a sum of more than one block.
pub(crate) fn sum_back<T: Real>(gradient: ArrayD<T>, shape: &[usize]) -> ArrayD<T> {
    let repetitions = gradient.len() / shape.iter().product::<usize>().max(1);
    if repetitions <= BLOCK {
        return sum_to_shape(gradient, shape);
    }
    sum_to_shape(gradient.mapv(T::as_f64), shape).mapv(T::of)
}
