//! Operations that pick elements by number.

use ndarray::{ArrayD, Axis};

use crate::error::{AutogradError, Result};
use crate::ops::long::BLOCK;
use crate::ops::reduce::check_axis;
use crate::real::Real;
use crate::tape::record;
use crate::tensor::Tensor;

impl<T: Real> Tensor<T> {
    /// Whole rows by number, as an embedding looks up its tokens: `[num_rows, ..]` to `[ids.len(), ..]`. A row that is
    /// picked twice gets both gradients. The tape saves the ids. Cost of backward: a zeroed table and one addition per
    /// picked element.
    ///
    /// # Errors
    /// When the tensor has no axes or an id is not below `num_rows`.
    pub fn gather_rows(&self, ids: &[usize]) -> Result<Self> {
        let shape = self.shape();
        check_axis("gather_rows", 0, &shape)?;
        check_indices("gather_rows", ids.iter().copied(), shape[0])?;
        let value = self.value().select(Axis(0), ids);
        Ok(record("gather_rows", &[self], value, |_| {
            let ids = ids.to_vec();
            Box::new(move |upstream| {
                let gradient = match ids.len() <= BLOCK {
                    true => rows_added::<T, T>(&shape, &ids, &upstream),
                    false => rows_added::<T, f64>(&shape, &ids, &upstream).mapv(T::of),
                };
                Ok(vec![Some(gradient)])
            })
        }))
    }

    /// One element per place along an axis, as in PyTorch's `gather`: along axis 1,
    /// `result[i, j] = self[i, indices[i, j]]`. The tape saves the indices.
    ///
    /// # Errors
    /// When there is no such axis, `indices` has another number of axes or is larger along another axis, or an index
    /// is not below the size of the axis.
    pub fn gather(&self, axis: usize, indices: &ArrayD<usize>) -> Result<Self> {
        let shape = self.shape();
        check_axis("gather", axis, &shape)?;
        let fits = indices.ndim() == shape.len()
            && (indices.shape().iter().zip(&shape).enumerate()).all(|(i, (index, size))| i == axis || index <= size);
        if !fits {
            return Err(AutogradError::Shape {
                operation: "gather",
                expected: format!("indices no larger than {shape:?} except along axis {axis}"),
                found: format!("{:?}", indices.shape()),
                advice: "give one index per element of the result",
            });
        }
        check_indices("gather", indices.iter().copied(), shape[axis])?;
        let value = {
            let x = self.value();
            let picked = indices.indexed_iter().map(|(mut place, &index)| {
                place[axis] = index;
                x[place]
            });
            ArrayD::from_shape_vec(indices.shape(), picked.collect()).expect("one element per index")
        };
        Ok(record("gather", &[self], value, |_| {
            let indices = indices.clone();
            Box::new(move |upstream| {
                let gradient = match indices.shape()[axis] <= BLOCK {
                    true => elements_added::<T, T>(&shape, axis, &indices, &upstream),
                    false => elements_added::<T, f64>(&shape, axis, &indices, &upstream).mapv(T::of),
                };
                Ok(vec![Some(gradient)])
            })
        }))
    }
}

/// A table of zeros `shape` to which each row of `upstream` is added at its id, in elements of type `A`.
fn rows_added<T: Real, A: Real>(shape: &[usize], ids: &[usize], upstream: &ArrayD<T>) -> ArrayD<A> {
    let mut table = ArrayD::zeros(shape);
    for (&id, row) in ids.iter().zip(upstream.outer_iter()) {
        // Added, not assigned: `ids` may repeat.
        let mut slot = table.index_axis_mut(Axis(0), id);
        slot.zip_mut_with(&row, |sum, &share| *sum += A::of(share.as_f64()));
    }
    table
}

/// A table of zeros `shape` to which each element of `upstream` is added at its index along `axis`.
fn elements_added<T: Real, A: Real>(
    shape: &[usize],
    axis: usize,
    indices: &ArrayD<usize>,
    upstream: &ArrayD<T>,
) -> ArrayD<A> {
    let mut table = ArrayD::zeros(shape);
    for ((mut place, &index), &share) in indices.indexed_iter().zip(upstream) {
        place[axis] = index;
        table[place] += A::of(share.as_f64());
    }
    table
}

/// Fails at the first index that is not below `size`.
pub(crate) fn check_indices(
    operation: &'static str,
    indices: impl IntoIterator<Item = usize>,
    size: usize,
) -> Result<()> {
    match indices.into_iter().enumerate().find(|&(_, index)| index >= size) {
        Some((place, index)) => Err(AutogradError::Index {
            operation,
            index,
            place,
            size,
        }),
        None => Ok(()),
    }
}
