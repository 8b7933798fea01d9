//! The last two cuts, and the draw.

use crate::exercises::nucleus_len;
use crate::params::SamplingParams;

/// The number of likeliest candidates that top-p and min-p leave, at least one. Shape: `probabilities` `[candidates]`,
/// falling; `mass` is the sum over all candidates, of which `probabilities` may hold only the first.
///
/// # Panics
/// Without candidates.
pub fn num_kept(probabilities: &[f32], mass: f64, params: &SamplingParams) -> usize {
    let nucleus = match params.top_p < 1.0 {
        true => nucleus_len(probabilities, mass, params.top_p),
        false => probabilities.len(),
    };
    let least = params.min_p * probabilities[0];
    probabilities[..nucleus].iter().take_while(|p| **p >= least).count()
}

/// The sum in sixteen lanes: lane `l` adds the numbers `l`, `l + 16`, … in ascending order. It is fast and has one
/// result on every machine.
pub fn sum(numbers: &[f32]) -> f64 {
    let mut lanes = [0.0f64; 16];
    for chunk in numbers.chunks(16) {
        for (number, lane) in chunk.iter().zip(&mut lanes) {
            *lane += f64::from(*number);
        }
    }
    lanes.iter().sum()
}

// ANCHOR: draw
/// The index at which the running sum of the probabilities passes `point` of the total. The result never has a
/// probability of zero. Rounding may leave the running sum below the target at the end; then the result is the last
/// index with a probability above zero.
pub fn index_at(probabilities: &[f32], point: f64) -> usize {
    let target = point * sum(probabilities);
    let (mut reached, mut last) = (0.0, 0);
    for (index, probability) in probabilities.iter().enumerate() {
        if *probability > 0.0 {
            reached += f64::from(*probability);
            last = index;
            if reached > target {
                break;
            }
        }
    }
    last
}
// ANCHOR_END: draw
