//! What can go wrong with a batch.

use generation::GenerateError;
use kv_cache::CacheError;

/// Why a batch was not computed, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// There is no prompt at all.
    #[error("the batch is empty: expected at least one prompt; where nobody waits there is nothing to compute")]
    EmptyBatch,
    /// One of the prompts can not be used, and nothing of the batch was computed; or its row gave logits that are no numbers, and the batch was
    /// given up.
    #[error("prompt {index} of the batch, counted from 0: {mistake}")]
    Prompt {
        /// Which one, counted from 0.
        index: usize,
        /// What is wrong with it. Told above, so it is no `source`, which would be told once more.
        mistake: GenerateError,
    },
    /// The fixed width is too small.
    #[error("the batch is {width} cells wide, expected at least {longest}, its longest prompt; choose a wider bucket")]
    TooNarrow {
        /// The width asked for.
        width: usize,
        /// Tokens of the longest prompt.
        longest: usize,
    },
    /// Not as many limits as prompts.
    #[error("{limits} limits for {prompts} prompts: expected one number of new tokens for each prompt")]
    LimitsDoNotMatch {
        /// Prompts given.
        prompts: usize,
        /// Limits given.
        limits: usize,
    },
    /// A window that lets nobody in.
    #[error("the wait window holds 0 requests: expected a batch of at least 1")]
    NoRoom,
    /// A cache refused.
    #[error(transparent)]
    Cache(#[from] CacheError),
}
