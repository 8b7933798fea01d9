//! Logits to probabilities.

use generation::lanes::exp;
use layout::simd::with_fma;

/// The probability of each token at a temperature: `e^(logit / temperature)`, divided by the sum of these powers over
/// all tokens.
///
/// The largest logit is subtracted first. It cancels in the quotient, so no probability changes, and no exponent is
/// above zero. Without it a logit of 9 at a temperature of 0.1 asks for e^90, which is more than an f32 holds. A logit
/// of -inf gets exactly 0.
///
/// Shapes: `logits`, `probabilities` `[tokens]`. At least one logit is above -inf, none is +inf or NaN. The sum runs in
/// sixteen lanes of f64: lane `l` adds the tokens `l`, `l + 16`, … in ascending order, which is fast and has one result
/// on every machine. Cost: one exponential per token.
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
