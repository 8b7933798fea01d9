//! The largest few of many, without sorting the many.
//!
//! ```text
//! simple:  sort all by size, keep the first k                 n log2 n comparisons
//! here:    keep 2 k; when they are full, drop the lower half   about n comparisons
//! ```
//!
//! What the real code adds:
//! 1. The smallest of the upper half is a bar. A number that is not above it has k at least as good before it, so it is read and forgotten.
//! 2. Dropping the lower half needs no order inside the halves: `select_nth_unstable_by` partitions.
//! 3. Only the k that are left are sorted.

/// Indices of the `k` largest numbers, the largest first; of equal ones the lower index comes first, and stays when only one can.
///
/// What stood in `kept` is forgotten. Fewer than `k` numbers are all kept. The vocabulary is read once: whatever is not above the
/// smallest of `k` numbers that are already there can not be among the largest. Cost: about one comparison a number while `k` is small against
/// them, where sorting takes log2 of their count; nothing is allocated once `kept` had room for `2 k` indices.
pub fn top_k<T: Copy + PartialOrd>(numbers: &[T], k: usize, kept: &mut Vec<u32>) {
    kept.clear();
    // ANCHOR: ex_09_2
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
