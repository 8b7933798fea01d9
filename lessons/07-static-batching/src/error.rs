//! Errors of a batch.

use generation::GenerateError;
use kv_cache::CacheError;

/// Why a batch was not computed, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// The batch has no prompt.
    #[error("the batch is empty: expected at least one prompt; do not start a batch while no request waits")]
    EmptyBatch,
    /// One of the prompts can not be used, and nothing of the batch was computed; or its row gave logits that are not
    /// numbers, and the batch was stopped.
    #[error("prompt {index} of the batch, counted from 0: {mistake}")]
    Prompt {
        /// Index of the prompt, counted from 0.
        index: usize,
        /// What is wrong with it. The message contains it, so it is no `source`, which would print it twice.
        mistake: GenerateError,
    },
    /// The fixed width is too small.
    #[error("the batch is {width} cells wide, expected at least {longest}, its longest prompt; choose a wider bucket")]
    TooNarrow {
        /// The width that was asked for, in cells.
        width: usize,
        /// Number of tokens of the longest prompt.
        longest: usize,
    },
    /// The numbers of prompts and limits differ.
    #[error("{limits} limits for {prompts} prompts: expected one number of new tokens for each prompt")]
    LimitsDoNotMatch {
        /// Number of prompts.
        prompts: usize,
        /// Number of limits.
        limits: usize,
    },
    /// A window of no requests.
    #[error("the wait window holds 0 requests: expected a batch of at least 1")]
    NoRoom,
    /// A cache refused the pass.
    #[error(transparent)]
    Cache(#[from] CacheError),
}
