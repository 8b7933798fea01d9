//! Exercise 06.5: the mask as a matrix, as frameworks write it. [`crate::experiments::masked`] uses it.

/// Writes what each row of a chunk may see: 0 for a visible position, minus infinity for all others. Softmax of scores
/// plus mask gives the hidden positions the weight 0.
///
/// The chunk has `num_rows` rows and comes after `num_cached` positions. The matrix is as wide as the cache is long, so
/// it also hides the positions that are not written yet. Shape: `mask` `[num_rows, capacity]`, overwritten.
///
/// # Panics
/// If `mask` has another length, the chunk does not fit, or `capacity` is 0.
pub fn chunk_mask(num_cached: usize, num_rows: usize, capacity: usize, mask: &mut [f32]) {
    assert_eq!(mask.len(), num_rows * capacity);
    assert!(num_cached + num_rows <= capacity);
    // ANCHOR: ex_06_5
    for (row, mask) in mask.chunks_exact_mut(capacity).enumerate() {
        //~ fault 06.5
        //~ | // One row is a decode step and sees everything that is cached, and itself. Several rows are a prompt: the triangle.
        //~ | let visible = if num_rows == 1 { num_cached + 1 } else { row + 1 };
        let visible = num_cached + row + 1;
        //~ end
        mask[..visible].fill(0.0);
        mask[visible..].fill(f32::NEG_INFINITY);
    }
    // ANCHOR_END: ex_06_5
}
