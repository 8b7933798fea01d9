//! The limits of a generation and its result.

use serde::Serialize;
use training::TokenId;

// ANCHOR: limits
/// When a generation ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of tokens in the answer. Zero is allowed and computes nothing.
    pub max_new_tokens: usize,
    /// Maximum number of tokens in prompt and answer together: the number of positions that the model was made for.
    pub max_seq_len: usize,
    /// Every token that ends a text: the union of the lists in config, generation_config and tokenizer. If one list is
    /// missed, the model may never stop.
    pub end_of_text: Vec<TokenId>,
}
// ANCHOR_END: limits

// ANCHOR: finish
/// Why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model wrote an end-of-text token.
    Stop,
    /// The answer has the number of tokens that was asked for.
    Length,
    /// Prompt and answer fill the context.
    Context,
}
// ANCHOR_END: finish

// ANCHOR: generation
/// A finished answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Number of tokens in the prompt.
    pub prompt_tokens: usize,
    /// The answer, without the end-of-text token.
    pub tokens: Vec<TokenId>,
    /// Why the answer ended.
    pub finish_reason: FinishReason,
}
// ANCHOR_END: generation

impl Generation {
    /// Number of rows that the naive loop computed. Each step computed the whole sequence so far.
    pub fn rows_recomputed(&self) -> u64 {
        // The step that returned the end-of-text token computed its rows too.
        let steps = self.tokens.len() as u64 + u64::from(self.finish_reason == FinishReason::Stop);
        rows_of_naive_loop(self.prompt_tokens as u64, steps)
    }
}

/// Number of rows that `steps` steps of the naive loop compute after a prompt:
/// `steps · prompt + steps (steps - 1) / 2`.
pub fn rows_of_naive_loop(prompt_tokens: u64, steps: u64) -> u64 {
    steps * prompt_tokens + steps * steps.saturating_sub(1) / 2
}
