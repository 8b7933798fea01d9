//! The choice of a token, and the loop around it: [`generate()`] is an exercise.

use crate::error::GenerateError;
use training::TokenId;

pub use crate::exercises::generate::generate;

/// Returns the token with the largest logit; of equal ones the lowest id. Shape: `logits` `[vocab_size]`.
///
/// NaN is neither larger nor smaller than any number. A plain search would step over it and return some token, and
/// damaged weights would look like a bad model. So NaN is an error.
///
/// # Errors
/// [`GenerateError::NotANumber`] with the first such index; [`GenerateError::NoLogits`] for an empty slice.
// ANCHOR: greedy
pub fn greedy(logits: &[f32]) -> Result<TokenId, GenerateError> {
    let mut best: Option<(usize, f32)> = None;
    for (id, &logit) in logits.iter().enumerate() {
        if logit.is_nan() {
            return Err(GenerateError::NotANumber { token_id: id });
        }
        if best.is_none_or(|(_, largest)| logit > largest) {
            best = Some((id, logit));
        }
    }
    let (id, _) = best.ok_or(GenerateError::NoLogits)?;
    Ok(TokenId(id as u32))
}
// ANCHOR_END: greedy
