//! Scores to weights.

use super::{LANES, exp, fold};
use layout::simd::Isa;

for_each_isa! {
    /// Turns scores into weights that add up to one: softmax, in place. An empty slice stays empty.
    ///
    /// The largest score is subtracted first, so that no exponential overflows; the sum runs in sixteen lanes, lane `l` taking the
    /// positions `l`, `l + 16`, … in ascending order. Cost: one exponential a position.
    softmax, softmax_on, softmax_avx2, softmax_plain,
    (scores: &mut [f32]), softmax_avx512
}

#[inline(always)]
fn softmax_plain(scores: &mut [f32]) {
    // The largest of several numbers is the same in any order.
    let (chunks, rest) = scores.as_chunks::<LANES>();
    let mut largest = [f32::NEG_INFINITY; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            largest[l] = if chunk[l] > largest[l] { chunk[l] } else { largest[l] };
        }
    }
    let max = largest.iter().chain(rest).fold(f32::NEG_INFINITY, |max, x| max.max(*x));

    let (chunks, rest) = scores.as_chunks_mut::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            chunk[l] = exp(chunk[l] - max);
            lanes[l] += chunk[l];
        }
    }
    for (lane, score) in lanes.iter_mut().zip(rest) {
        *score = exp(*score - max);
        *lane += *score;
    }
    let scale = 1.0 / fold(lanes);
    for weight in scores {
        *weight *= scale;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn softmax_avx512(scores: &mut [f32]) {
    softmax_plain(scores);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softmax_survives_scores_beyond_any_exponential() {
        let mut scores = vec![1e30, 1e30, -1e30, f32::NEG_INFINITY];
        softmax(&mut scores);
        assert_eq!(scores, [0.5, 0.5, 0.0, 0.0]);
    }
}
