//! From shares to one token: how many may be drawn, and which one a number stands for.

use crate::nucleus::nucleus_len;
use crate::params::SamplingParams;

/// How many of the likeliest top-p and min-p leave, one at least. Shape: `probabilities` `[candidates]`, falling; `mass` is that of all candidates.
///
/// # Panics
/// Without candidates.
pub fn num_kept(probabilities: &[f32], mass: f64, params: &SamplingParams) -> usize {
    let nucleus = match params.top_p < 1.0 {
        true => nucleus_len(probabilities, mass, params.top_p),
        false => probabilities.len(),
    };
    let least = params.min_p * probabilities[0];
    let likely = |probability: &&f32| **probability >= least;
    probabilities[..nucleus].iter().take_while(likely).count()
}

/// The sum in sixteen lanes, lane `l` taking the numbers `l`, `l + 16`, … in ascending order.
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
/// Where share `point` of the mass of all probabilities is reached; never a place whose probability is zero. The sum of the first half of a
/// million small numbers is not exactly half of the sum of all, so the last place that is possible takes what rounding leaves over.
pub fn place_of(probabilities: &[f32], point: f64) -> usize {
    let target = point * sum(probabilities);
    let (mut reached, mut last) = (0.0, 0);
    for (place, probability) in probabilities.iter().enumerate() {
        if *probability > 0.0 {
            reached += f64::from(*probability);
            last = place;
            if reached > target {
                break;
            }
        }
    }
    last
}
// ANCHOR_END: draw
