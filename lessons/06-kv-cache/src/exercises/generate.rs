//! Exercise 06.4: one token after the other, each computed once.

use crate::error::CacheError;
use generation::{FinishReason, GenerateError, Generation, Limits};
use training::TokenId;

/// The cached loop: passes the whole prompt to `next_token` once (prefill), and after that only the newest token
/// (decode).
///
/// Supersedes [`generation::generate::generate`]. `next_token` gets the tokens that it has not seen, appends them to
/// what it keeps, and returns the token that follows. `on_token` gets each answer token as soon as it is known. The
/// end-of-text token ends the answer and is no part of it. A request for zero tokens computes nothing. Prompt and
/// answer together never exceed `limits.max_seq_len`.
///
/// The last token of an answer is not passed to `next_token`, because its successor is not needed.
///
/// Cost: p + n - 1 rows for n new tokens after a prompt of p.
///
/// # Errors
/// An empty prompt, a prompt longer than the context, and the errors of `next_token`.
pub fn generate(
    prompt: &[TokenId],
    limits: &Limits,
    next_token: &mut dyn FnMut(&[TokenId]) -> Result<TokenId, CacheError>,
    on_token: &mut dyn FnMut(TokenId),
) -> Result<Generation, CacheError> {
    // ANCHOR: ex_06_4
    if prompt.is_empty() {
        return Err(GenerateError::EmptyPrompt.into());
    }
    if prompt.len() > limits.max_seq_len {
        return Err(CacheError::Generate(GenerateError::PromptTooLong {
            prompt_tokens: prompt.len(),
            max_seq_len: limits.max_seq_len,
        }));
    }
    let room = limits.max_seq_len - prompt.len();
    let mut answer = Vec::with_capacity(room.min(limits.max_new_tokens));
    let finish_reason = loop {
        // Before the call, so that a token that is not needed is not computed.
        if answer.len() == limits.max_new_tokens {
            break FinishReason::Length;
        }
        if answer.len() == room {
            break FinishReason::Context;
        }
        let unseen = match answer.last() {
            None => prompt,
            Some(newest) => std::slice::from_ref(newest),
        };
        let token = next_token(unseen)?;
        if limits.end_of_text.contains(&token) {
            break FinishReason::Stop;
        }
        answer.push(token);
        on_token(token);
    };
    Ok(Generation {
        prompt_tokens: prompt.len(),
        tokens: answer,
        finish_reason,
    })
    // ANCHOR_END: ex_06_4
}
