//! Exercise 07.3: prompts of similar length together. [`crate::rules`] counts the cells that this saves.

use crate::parts::Bucket;
use crate::percentile::percentile;

/// Sorts prompts into buckets that are as wide as a percentile of their lengths, so that a short prompt is not padded
/// to the length of a long one.
///
/// The borders are the lengths at `percents` (nearest rank, see [`percentile`]), and the longest prompt, so that each
/// prompt has a place. A prompt goes into the narrowest bucket that holds it: a length that is equal to a border
/// belongs to that border's bucket. Buckets come narrowest first, prompts keep their order; equal borders are one
/// bucket, and no bucket is empty. Without prompts there are no buckets.
///
/// Cost: a sorted copy of the lengths for each percentile.
///
/// # Panics
/// If a percentage is not within 0 to 100.
pub fn into_buckets(lengths: &[usize], percents: &[f64]) -> Vec<Bucket> {
    // ANCHOR: ex_07_3
    let borders = percents.iter().chain(&[100.0]);
    let mut borders: Vec<usize> = borders.filter_map(|percent| percentile(lengths, *percent)).collect();
    borders.sort_unstable();
    borders.dedup();
    let empty = |width| Bucket {
        width,
        prompts: Vec::new(),
    };
    let mut buckets: Vec<Bucket> = borders.into_iter().map(empty).collect();
    for (prompt, length) in lengths.iter().enumerate() {
        // The first bucket that is at least as wide. The last border is the longest prompt, so there is one.
        let narrowest = buckets.partition_point(|bucket| bucket.width < *length);
        buckets[narrowest].prompts.push(prompt);
    }
    buckets
    // ANCHOR_END: ex_07_3
}
