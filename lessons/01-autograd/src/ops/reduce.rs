//! Sums, means and maxima.

use ndarray::{ArrayD, Axis, IxDyn};

use crate::error::{AutogradError, Result};
use crate::ops::long::{sum_all, sum_along};
use crate::real::Real;
use crate::tape::record;
use crate::tensor::Tensor;

impl<T: Real> Tensor<T> {
    /// The sum of all elements, shape `[]`, right to rounding however many there are. The tape saves nothing but the
    /// shape.
    pub fn sum(&self) -> Self {
        let value = ArrayD::from_elem(IxDyn(&[]), sum_all(&self.value()));
        let shape = self.shape();
        record("sum", &[self], value, |_| {
            Box::new(move |upstream| Ok(vec![Some(ArrayD::from_elem(shape.as_slice(), upstream[IxDyn(&[])]))]))
        })
    }

    /// The mean of all elements, shape `[]`; NaN when there are none, as for 0/0.
    pub fn mean(&self) -> Self {
        let count = T::of(self.len() as f64);
        self.sum().scale(T::one() / count)
    }

    /// The sum along one axis, which disappears. `[.., size, ..]` to `[.., ..]`.
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn sum_axis(&self, axis: usize) -> Result<Self> {
        let shape = self.shape();
        check_axis("sum_axis", axis, &shape)?;
        let value = sum_along(self.value().view(), Axis(axis));
        Ok(record("sum_axis", &[self], value, |_| {
            Box::new(move |upstream| {
                let spread = upstream.insert_axis(Axis(axis));
                let spread = spread
                    .broadcast(shape.as_slice())
                    .expect("size 1 broadcasts to any size")
                    .to_owned();
                Ok(vec![Some(spread)])
            })
        }))
    }

    /// The mean along one axis, which disappears; NaN along an axis of size 0.
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn mean_axis(&self, axis: usize) -> Result<Self> {
        let sum = self.sum_axis(axis)?;
        let count = T::of(self.shape()[axis] as f64);
        Ok(sum.scale(T::one() / count))
    }

    /// The largest element along one axis, which disappears. The gradient goes to the first of equal maxima, as in
    /// PyTorch's `max(dim)`. The tape saves one index per result.
    ///
    /// # Errors
    /// When there is no such axis, or its size is 0.
    pub fn max_axis(&self, axis: usize) -> Result<Self> {
        let shape = self.shape();
        check_axis("max_axis", axis, &shape)?;
        if shape[axis] == 0 {
            return Err(AutogradError::Shape {
                operation: "max_axis",
                expected: format!("at least one element along axis {axis}"),
                found: format!("shape {shape:?}"),
                advice: "the largest of no elements is not defined; leave empty inputs out",
            });
        }
        let (places, value) = {
            let x = self.value();
            let places = x.map_axis(Axis(axis), |lane| {
                // Strictly greater, so that the first of equals stays; a NaN wins over everything, as in PyTorch.
                (1..lane.len()).fold(0, |best, i| {
                    let better = lane[i] > lane[best] || (lane[i].is_nan() && !lane[best].is_nan());
                    if better { i } else { best }
                })
            });
            let lanes: Vec<T> = x
                .lanes(Axis(axis))
                .into_iter()
                .zip(&places)
                .map(|(lane, &i)| lane[i])
                .collect();
            let value = ArrayD::from_shape_vec(places.raw_dim(), lanes).expect("one maximum per lane");
            (places, value)
        };
        Ok(record("max_axis", &[self], value, |_| {
            Box::new(move |upstream| {
                let mut gradient = ArrayD::zeros(shape.as_slice());
                let lanes = gradient.lanes_mut(Axis(axis)).into_iter();
                for ((mut lane, &place), &g) in lanes.zip(&places).zip(&upstream) {
                    lane[place] = g;
                }
                Ok(vec![Some(gradient)])
            })
        }))
    }
}

/// Fails when `shape` has no such axis.
pub(crate) fn check_axis(operation: &'static str, axis: usize, shape: &[usize]) -> Result<()> {
    if axis < shape.len() {
        Ok(())
    } else {
        Err(AutogradError::Axis {
            operation,
            axis,
            num_axes: shape.len(),
        })
    }
}
