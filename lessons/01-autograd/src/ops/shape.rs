//! Operations that only move elements. Each returns a new row-major tensor: copying keeps every value contiguous, and
//! lesson 02 measures what not copying would cost and gain. The tape saves shapes, never values.

use std::ops::Range;

use ndarray::{ArrayD, Axis, Slice, concatenate};

use crate::error::{AutogradError, Result};
use crate::ops::broadcast::checked_len;
use crate::ops::reduce::check_axis;
use crate::real::Real;
use crate::storage::row_major;
use crate::tape::record;
use crate::tensor::Tensor;

impl<T: Real> Tensor<T> {
    /// The same elements in row-major order under another shape.
    ///
    /// # Errors
    /// When the number of elements differs, or the sizes multiply to more than memory can hold.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self> {
        let before = self.shape();
        if checked_len("reshape", shape)? != self.len() {
            return Err(AutogradError::Shape {
                operation: "reshape",
                expected: format!("a shape of {} elements, as {before:?} has", self.len()),
                found: format!("{shape:?}"),
                advice: "the sizes of both shapes must multiply to the same number",
            });
        }
        let value = self
            .value()
            .clone()
            .into_shape_with_order(shape)
            .expect("count was checked");
        Ok(record("reshape", &[self], value, |_| {
            Box::new(move |upstream| {
                let back = upstream.into_shape_with_order(before.as_slice());
                Ok(vec![Some(back.expect("same number of elements"))])
            })
        }))
    }

    /// The axes in another order: axis `i` of the result is axis `axes[i]` of this tensor.
    ///
    /// # Errors
    /// When `axes` does not name each axis exactly once.
    pub fn permute(&self, axes: &[usize]) -> Result<Self> {
        let num_axes = self.shape().len();
        // Where each axis went; also the order that undoes the permutation.
        let mut inverse = vec![usize::MAX; num_axes];
        for (to, &from) in axes.iter().enumerate() {
            if let Some(place) = inverse.get_mut(from) {
                *place = to;
            }
        }
        if axes.len() != num_axes || inverse.contains(&usize::MAX) {
            return Err(AutogradError::Shape {
                operation: "permute",
                expected: format!("each axis below {num_axes} exactly once"),
                found: format!("{axes:?}"),
                advice: "list all axes in their new order",
            });
        }
        let value = row_major(self.value().view().permuted_axes(axes).into_owned());
        Ok(record("permute", &[self], value, |_| {
            Box::new(move |upstream| Ok(vec![Some(row_major(upstream.permuted_axes(inverse.as_slice())))]))
        }))
    }

    /// Two axes exchanged: [`permute`](Self::permute) for matrices.
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn transpose(&self, first: usize, second: usize) -> Result<Self> {
        let shape = self.shape();
        check_axis("transpose", first, &shape)?;
        check_axis("transpose", second, &shape)?;
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        axes.swap(first, second);
        self.permute(&axes)
    }

    /// The part `range` of one axis.
    ///
    /// # Errors
    /// When there is no such axis, or the range is reversed or ends past it.
    pub fn slice(&self, axis: usize, range: Range<usize>) -> Result<Self> {
        let shape = self.shape();
        check_axis("slice", axis, &shape)?;
        if range.start > range.end || range.end > shape[axis] {
            return Err(AutogradError::Shape {
                operation: "slice",
                expected: format!("a range inside 0..{} of axis {axis}", shape[axis]),
                found: format!("{range:?}"),
                advice: "ranges are half open: the end is not included",
            });
        }
        let part = Slice::from(range);
        let value = row_major(self.value().slice_axis(Axis(axis), part).to_owned());
        Ok(record("slice", &[self], value, |_| {
            Box::new(move |upstream| {
                // What was not taken has gradient zero.
                let mut gradient = ArrayD::zeros(shape.as_slice());
                gradient.slice_axis_mut(Axis(axis), part).assign(&upstream);
                Ok(vec![Some(gradient)])
            })
        }))
    }

    /// Tensors one after the other along an axis; all other sizes are equal.
    ///
    /// # Errors
    /// When there is none, the axis does not exist, or another size differs.
    pub fn concat(tensors: &[&Self], axis: usize) -> Result<Self> {
        let Some(first) = tensors.first() else {
            return Err(misfit("at least one tensor".into(), "none".into()));
        };
        let expected = first.shape();
        check_axis("concat", axis, &expected)?;
        for tensor in tensors {
            let mut found = tensor.shape();
            if found.len() == expected.len() {
                found[axis] = expected[axis];
            }
            if found != expected {
                return Err(misfit(
                    format!("{expected:?} but for axis {axis}"),
                    format!("{:?}", tensor.shape()),
                ));
            }
        }
        let mut joined = expected.clone();
        joined[axis] = tensors
            .iter()
            .fold(0, |sum: usize, tensor| sum.saturating_add(tensor.shape()[axis]));
        checked_len("concat", &joined)?;
        let values: Vec<_> = tensors.iter().map(|tensor| tensor.value()).collect();
        let views: Vec<_> = values.iter().map(|value| value.view()).collect();
        let value = concatenate(Axis(axis), &views).expect("shapes were checked");
        Ok(record("concat", tensors, value, |_| {
            // Per tensor: its size along the axis, and whether its gradient is wanted.
            let sizes: Vec<(usize, bool)> = (tensors.iter().zip(&values))
                .map(|(tensor, value)| (value.shape()[axis], tensor.is_recorded()))
                .collect();
            Box::new(move |upstream| {
                let mut start = 0;
                let parts = sizes.iter().map(|&(size, wanted)| {
                    let range = start..start + size;
                    start += size;
                    wanted.then(|| upstream.slice_axis(Axis(axis), Slice::from(range)).to_owned())
                });
                Ok(parts.collect())
            })
        }))
    }
}

fn misfit(expected: String, found: String) -> AutogradError {
    AutogradError::Shape {
        operation: "concat",
        expected,
        found,
        advice: "all sizes but that of the joined axis must be equal",
    }
}
