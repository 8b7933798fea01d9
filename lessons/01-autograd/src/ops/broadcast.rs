//! When two shapes fit together.

use crate::error::{AutogradError, Result};

/// The shape that both broadcast to: aligned from the right, sizes equal or one of them 1.
pub(crate) fn broadcast_shape(operation: &'static str, left: &[usize], right: &[usize]) -> Result<Vec<usize>> {
    let num_axes = left.len().max(right.len());
    // Sizes from the right; a missing axis counts as size 1.
    let size = |shape: &[usize], from_right: usize| {
        if from_right < shape.len() {
            shape[shape.len() - 1 - from_right]
        } else {
            1
        }
    };
    let mut shape = vec![0; num_axes];
    for from_right in 0..num_axes {
        shape[num_axes - 1 - from_right] = match (size(left, from_right), size(right, from_right)) {
            (l, r) if l == r => l,
            (1, r) => r,
            (l, 1) => l,
            _ => {
                return Err(AutogradError::Broadcast {
                    operation,
                    left: left.to_vec(),
                    right: right.to_vec(),
                });
            }
        };
    }
    checked_len(operation, &shape)?;
    Ok(shape)
}

/// Most elements of an array: an allocation has at most `isize::MAX` bytes.
const MOST: usize = isize::MAX as usize / size_of::<f64>();

/// Number of elements of a shape.
///
/// # Errors
/// When its sizes, zeros left out, multiply to more elements than memory can hold. (A shape with a zero has no
/// elements, and yet an array has strides, which are products of the other sizes.)
pub(crate) fn checked_len(operation: &'static str, shape: &[usize]) -> Result<usize> {
    let mut sizes = shape.iter().copied().filter(|&size| size != 0);
    let product = sizes.try_fold(1, usize::checked_mul);
    if product.is_none_or(|product| product > MOST) {
        return Err(AutogradError::Shape {
            operation,
            expected: format!("sizes that multiply to at most {MOST}, zeros left out"),
            found: format!("{shape:?}"),
            advice: "use smaller sizes",
        });
    }
    Ok(shape.iter().product())
}
