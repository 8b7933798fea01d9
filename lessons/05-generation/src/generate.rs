//! One token after the other: the choice, and the naive loop. Functions only; their types stand in [`crate::limits`].

use crate::error::GenerateError;
use crate::limits::{FinishReason, Generation, Limits};
use training::TokenId;

/// The token with the largest logit; of equal ones the lowest id. Shape: `logits` `[vocab_size]`.
///
/// A logit that is not a number compares as neither larger nor smaller, so that a plain search would quietly step over it and
/// pick some token: damaged weights would pass for a bad model. They are an error here.
///
/// # Errors
/// [`GenerateError::NotANumber`] with the first such place; [`GenerateError::NoLogits`] for an empty slice.
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

/// The naive loop: asks `next_token` for the token that follows the whole sequence so far, appends it, and asks again.
///
/// `next_token` sees prompt and answer together and remembers nothing, so step `i` computes `prompt.len() + i` rows. `on_token` gets each
/// answer token as soon as it is known, except the end-of-text token, which ends the answer and is no part of it. A request for zero
/// tokens is answered at once and computes nothing. Prompt and answer together never exceed `limits.max_seq_len`.
///
/// Cost: n new tokens after a prompt of p: p + (p + 1) + … + (p + n - 1) = n · p + n (n - 1) / 2 rows.
///
/// # Errors
/// An empty prompt, a prompt longer than the context, and whatever `next_token` returns.
pub fn generate(
    prompt: &[TokenId],
    limits: &Limits,
    next_token: &mut dyn FnMut(&[TokenId]) -> Result<TokenId, GenerateError>,
    on_token: &mut dyn FnMut(TokenId),
) -> Result<Generation, GenerateError> {
    // ANCHOR: ex_05_4
    if prompt.is_empty() {
        return Err(GenerateError::EmptyPrompt);
    }
    if prompt.len() > limits.max_seq_len {
        return Err(GenerateError::PromptTooLong {
            prompt_tokens: prompt.len(),
            max_seq_len: limits.max_seq_len,
        });
    }
    let mut sequence = Vec::with_capacity(prompt.len() + limits.max_new_tokens.min(limits.max_seq_len));
    sequence.extend_from_slice(prompt);
    let finish_reason = loop {
        if sequence.len() - prompt.len() == limits.max_new_tokens {
            break FinishReason::Length;
        }
        if sequence.len() == limits.max_seq_len {
            break FinishReason::Context;
        }
        let token = next_token(&sequence)?;
        if limits.end_of_text.contains(&token) {
            break FinishReason::Stop;
        }
        sequence.push(token);
        on_token(token);
    };
    Ok(Generation {
        prompt_tokens: prompt.len(),
        tokens: sequence.split_off(prompt.len()),
        finish_reason,
    })
    // ANCHOR_END: ex_05_4
}
