//! The largest few of many, without sorting the many.
//!
//! ```text
//! simple:  sort all numbers, keep the first k                                n log2 n comparisons
//! here:    collect numbers; whenever there are 2 k, drop the lower half      about n comparisons
//! ```
//!
//! What the real code adds:
//! 1. The smallest number of the upper half is the bar. For a number that is not above the bar, k numbers that are at
//!    least as large came before, so it is skipped after one comparison.
//! 2. Dropping the lower half needs no order inside the halves: `select_nth_unstable_by` partitions.
//! 3. Only the k numbers that are left are sorted.

/// Writes the indices of the `k` largest numbers into `kept`, the largest first. Of equal numbers the lower index comes
/// first, and it is the one that stays if there is room for one.
///
/// The earlier content of `kept` is dropped. If there are fewer than `k` numbers, all are kept. Cost: about one
/// comparison per number while `k` is small against their count `n`, where a sort takes log2 of `n`; no allocation once
/// `kept` has room for `2 k` indices.
pub fn top_k<T: Copy + PartialOrd>(numbers: &[T], k: usize, kept: &mut Vec<u32>) {
    // ANCHOR: ex_09_2
    kept.clear();
    let before = |a: &u32, b: &u32| {
        let (x, y) = (numbers[*a as usize], numbers[*b as usize]);
        y.partial_cmp(&x).expect("no NaN").then(a.cmp(b))
    };
    if k == 0 {
        return;
    }
    let full = k.saturating_mul(2);
    let mut bar = None;
    for (index, number) in numbers.iter().enumerate() {
        if bar.is_some_and(|bar| *number <= bar) {
            continue;
        }
        kept.push(index as u32);
        if kept.len() == full {
            kept.select_nth_unstable_by(k - 1, before);
            kept.truncate(k);
            bar = Some(numbers[kept[k - 1] as usize]);
        }
    }
    kept.sort_unstable_by(before);
    kept.truncate(k);
    // ANCHOR_END: ex_09_2
}
