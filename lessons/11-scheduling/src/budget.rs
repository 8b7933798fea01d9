//! How many rows of whom go into one step.

/// Shares out a step's budget of rows. Request `i` of those that run, the oldest first, has `missing[i]` rows to compute; `rows[i]` is what it gets.
///
/// 1. Whoever decodes (one row is missing) gets it: nobody's stream stops because somebody else's prompt is long.
/// 2. What is left goes to the prompts, the oldest first: each gets as much as is missing, but at most `chunk`.
///
/// So a long prompt is spread over several steps, and each of them also moves every stream on. There are at most as many requests as rows in the
/// budget, so the oldest always gets one at least. Cost: two looks at each request; nothing is allocated.
///
/// # Panics
/// If the slices differ in length.
pub fn fill(budget: usize, chunk: usize, missing: &[usize], rows: &mut [usize]) {
    assert_eq!(missing.len(), rows.len());
    // ANCHOR: ex_11_1
    let mut left = budget;
    for (rows, missing) in rows.iter_mut().zip(missing) {
        *rows = usize::from(*missing == 1).min(left);
        left -= *rows;
    }
    for (rows, missing) in rows.iter_mut().zip(missing) {
        if *missing > 1 {
            *rows = (*missing).min(chunk).min(left);
            left -= *rows;
        }
    }
    // ANCHOR_END: ex_11_1
}
