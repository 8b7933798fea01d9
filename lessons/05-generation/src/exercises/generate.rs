//! The naive loop. Its types stand in [`crate::limits`], the choice of a token in [`crate::generate`].

use crate::error::GenerateError;
use crate::limits::{FinishReason, Generation, Limits};
use training::TokenId;

/// The naive loop: asks `next_token` for the token that follows the whole sequence so far, appends it, and asks again.
///
/// `next_token` gets prompt and answer together and keeps nothing between calls, so step `i` computes
/// `prompt.len() + i` rows. `on_token` gets each answer token as soon as it is known. The end-of-text token ends the
/// answer and is not part of it. A request for zero tokens returns at once and computes nothing. Prompt and answer
/// together never exceed `limits.max_seq_len`.
///
/// Cost: n new tokens after a prompt of p: p + (p + 1) + … + (p + n - 1) = n · p + n (n - 1) / 2 rows.
///
/// # Errors
/// An empty prompt, a prompt longer than the context, and every error of `next_token`.
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
    // One allocation for all steps. `max_new_tokens` may be huge, the context is not.
    let mut sequence = Vec::with_capacity(prompt.len() + limits.max_new_tokens.min(limits.max_seq_len));
    sequence.extend_from_slice(prompt);
    let finish_reason = loop {
        // Both limits are checked before the model is called: a token that may not be kept is not computed.
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
