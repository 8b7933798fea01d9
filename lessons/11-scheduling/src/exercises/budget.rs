//! How many rows of each request go into one step.

/// Shares out a step's budget of rows. Running request `i`, the oldest first, has `missing[i]` rows to compute;
/// `rows[i]` is the number that it gets.
///
/// 1. A request that decodes (one row is missing) gets its row first: no stream stops because another request's prompt
///    is long.
/// 2. The rest goes to the prompts, the oldest first: each gets what it misses, but at most `chunk`.
///
/// So a long prompt is spread over several steps, and each of these also gives every stream its token. There are at
/// most as many requests as rows in the budget, so the oldest always gets at least one. Cost: two looks at each
/// request; nothing is allocated.
///
/// # Panics
/// If the slices differ in length.
pub fn fill(budget: usize, chunk: usize, missing: &[usize], rows: &mut [usize]) {
    assert_eq!(missing.len(), rows.len());
    // ANCHOR: ex_11_1
    let mut left = budget;
    // All decodes before any prompt, so that no prompt takes a stream's row.
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
