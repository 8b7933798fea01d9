//! What a generation may do, and what came of it.

use serde::Serialize;
use training::TokenId;

// ANCHOR: limits
/// When a generation ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most tokens of the answer; zero is allowed and computes nothing.
    pub max_new_tokens: usize,
    /// Most tokens of prompt and answer together: the positions that the model knows.
    pub max_seq_len: usize,
    /// Every token that ends a text: the union of what config, generation_config and tokenizer name. One list that is missed
    /// lets a model talk on for ever.
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
    /// All tokens asked for were written.
    Length,
    /// The context is full.
    Context,
}
// ANCHOR_END: finish

// ANCHOR: generation
/// A finished answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// The answer, without the end-of-text token.
    pub tokens: Vec<TokenId>,
    /// Why it ended.
    pub finish_reason: FinishReason,
}
// ANCHOR_END: generation

impl Generation {
    /// Rows that the naive loop computed: every step the whole sequence so far.
    pub fn rows_recomputed(&self) -> u64 {
        // The step that found the end of the text computed its rows too.
        let steps = self.tokens.len() as u64 + u64::from(self.finish_reason == FinishReason::Stop);
        rows_of_naive_loop(self.prompt_tokens as u64, steps)
    }
}

/// Rows that `steps` steps of the naive loop compute after a prompt: `steps · prompt + steps (steps - 1) / 2`.
// ANCHOR: rows
pub fn rows_of_naive_loop(prompt_tokens: u64, steps: u64) -> u64 {
    steps * prompt_tokens + steps * steps.saturating_sub(1) / 2
}
// ANCHOR_END: rows
