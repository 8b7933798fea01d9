//! The percentile: a mean hides the few requests that waited long.

/// The smallest sample that at least `percent` % of all samples do not exceed; `None` without samples.
///
/// This is the nearest-rank rule: sorted, sample number ⌈percent / 100 · n⌉, counted from 1. It is always one of the
/// samples, so P99 of ten waits is the longest one, and nothing is interpolated. P0 is the smallest. Cost: a sorted
/// copy.
///
/// # Panics
/// If `percent` is not within 0 to 100, or two samples can not be compared (NaN).
// ANCHOR: percentile
pub fn percentile<T: Copy + PartialOrd>(samples: &[T], percent: f64) -> Option<T> {
    assert!((0.0..=100.0).contains(&percent), "{percent} per cent");
    let mut sorted = samples.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("samples can be compared"));
    // Minus 1e-9, so that rounding does not turn a whole rank into the next one: 95 % of 20 is 19.
    let rank = (percent / 100.0 * sorted.len() as f64 - 1e-9).ceil();
    sorted.get((rank.max(1.0) as usize) - 1).copied()
}
// ANCHOR_END: percentile

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(samples: &[u32], percent: f64, expected: Option<u32>) {
        assert_eq!(percentile(samples, percent), expected, "P{percent} of {samples:?}");
    }

    #[test]
    fn the_nearest_rank_is_one_of_the_samples() {
        check(&[], 50.0, None);
        check(&[7], 0.0, Some(7));
        check(&[7], 99.0, Some(7));
        check(&[30, 10, 40, 20], 50.0, Some(20));
        check(&[30, 10, 40, 20], 51.0, Some(30));
        check(&[30, 10, 40, 20], 0.0, Some(10));
        check(&[30, 10, 40, 20], 100.0, Some(40));
        let hundred: Vec<u32> = (1..=100).collect();
        for percent in 1..=100 {
            check(&hundred, f64::from(percent), Some(percent));
        }
        let twenty: Vec<u32> = (1..=20).collect();
        check(&twenty, 95.0, Some(19));
    }
}
