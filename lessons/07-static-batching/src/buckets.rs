//! Prompts of similar length together. One function; [`crate::rules`] counts what it saves.

use crate::percentile::percentile;
use crate::rules::Bucket;

/// Sorts prompts into buckets that are as wide as a percentile of their lengths, so that a short prompt is not padded to the length of a
/// long one.
///
/// The borders are the lengths at `percents` (nearest rank, see [`percentile`]), and the longest prompt, so that each prompt has a place. A
/// prompt goes into the narrowest bucket that holds it: a length that is equal to a border belongs to that border's bucket. Buckets come
/// narrowest first, prompts keep their order; equal borders are one bucket, and there are no empty ones. Without prompts there are no
/// buckets.
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
    let mut buckets: Vec<Bucket> = borders
        .into_iter()
        .map(|width| Bucket {
            width,
            prompts: Vec::new(),
        })
        .collect();
    for (prompt, length) in lengths.iter().enumerate() {
        let narrowest = buckets.partition_point(|bucket| bucket.width < *length);
        buckets[narrowest].prompts.push(prompt);
    }
    buckets
    // ANCHOR_END: ex_07_3
}
