//! Exercises 02.1 and 02.2: what a permutation does to a layout, and when a layout is contiguous.

/// Reorders the axes of a layout: axis `i` of the result is axis `order[i]` of the input. Returns the new shape and the
/// new strides. No element moves, so the cost does not depend on the size of the tensor.
///
/// ```
/// // A row-major [2, 3] matrix, transposed: one step along the new first axis is one element.
/// let (shape, strides) = layout::exercises::permute(&[2, 3], &[3, 1], &[1, 0]);
/// assert_eq!((shape, strides), (vec![3, 2], vec![1, 3]));
/// ```
///
/// # Panics
/// If `order` does not name each axis exactly once.
pub fn permute(shape: &[usize], strides: &[usize], order: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut seen = vec![false; shape.len()];
    for &axis in order {
        assert!(axis < shape.len(), "there is no axis {axis} in {shape:?}");
        assert!(!seen[axis], "axis {axis} stands twice in {order:?}");
        seen[axis] = true;
    }
    assert_eq!(order.len(), shape.len(), "{order:?} leaves out an axis of {shape:?}");
    // ANCHOR: ex_02_1
    let (mut new_shape, mut new_strides) = (Vec::new(), Vec::new());
    for &axis in order {
        new_shape.push(shape[axis]);
        new_strides.push(strides[axis]);
    }
    (new_shape, new_strides)
    // ANCHOR_END: ex_02_1
}

/// Whether walking the elements in row-major order visits neighbouring places of the storage, one after the other,
/// without a gap. An axis of length 1 is never stepped along, so its stride does not matter; a tensor without elements
/// is contiguous.
///
/// ```
/// assert!(layout::exercises::is_contiguous(&[2, 3], &[3, 1]));
/// assert!(!layout::exercises::is_contiguous(&[3, 2], &[1, 3]));
/// assert!(layout::exercises::is_contiguous(&[1, 3], &[100, 1]));
/// ```
pub fn is_contiguous(shape: &[usize], strides: &[usize]) -> bool {
    // ANCHOR: ex_02_2
    if shape.contains(&0) {
        return true;
    }
    // From the last axis outwards, a step must skip exactly the elements of all axes behind it.
    let mut expected = 1;
    for (&length, &stride) in shape.iter().zip(strides).rev() {
        if length != 1 {
            if stride != expected {
                return false;
            }
            expected *= length;
        }
    }
    true
    // ANCHOR_END: ex_02_2
}
