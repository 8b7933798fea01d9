//! Logits to probabilities.

use generation::lanes::exp;
use layout::simd::with_fma;

/// The probability of each token at a temperature: `e^(logit / temperature)`, divided by the sum of all of these.
///
/// The largest logit is subtracted first. That changes no probability, and no exponent is above zero: without it a logit of 9 at a temperature of
/// 0.1 asks for e^90, which no f32 holds. A logit of -inf gets exactly 0.
///
/// Shapes: `logits`, `probabilities` `[tokens]`. At least one logit is above -inf, none is +inf or NaN. The sum runs in sixteen lanes of f64, lane
/// `l` taking the tokens `l`, `l + 16`, … in ascending order, so that it is fast and has one order. Cost: one exponential a token.
///
/// # Panics
/// If the lengths differ.
pub fn softmax(logits: &[f32], temperature: f32, probabilities: &mut [f32]) {
    assert_eq!(logits.len(), probabilities.len());
    // ANCHOR: ex_09_1
    const LANES: usize = 16;
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let per_degree = 1.0 / temperature;
    with_fma(
        #[inline(always)]
        || {
            let mut lanes = [0.0f64; LANES];
            let chunks = probabilities.chunks_mut(LANES);
            for (chunk, logits) in chunks.zip(logits.chunks(LANES)) {
                for ((p, logit), lane) in chunk.iter_mut().zip(logits).zip(&mut lanes) {
                    *p = exp((logit - largest) * per_degree);
                    *lane += f64::from(*p);
                }
            }
            let scale = (1.0 / lanes.iter().sum::<f64>()) as f32;
            for p in probabilities {
                *p *= scale;
            }
        },
    );
    // ANCHOR_END: ex_09_1
}
