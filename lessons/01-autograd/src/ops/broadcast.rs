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
    Ok(shape)
}
