//! Requests that are refused, and passes that fail.

use kv_cache::CacheError;

// ANCHOR: submit
/// Why a request was not accepted. The engine keeps nothing of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The prompt has no token, so there is nothing to continue.
    #[error("the prompt is empty: expected at least one token; give it some text")]
    EmptyPrompt,
    /// The prompt is longer than the model's context, or than memory holds for one request, so it could never run.
    #[error(
        "the prompt has {prompt_tokens} tokens, expected at most {max_seq_len}, the room of this engine for one request; shorten the prompt"
    )]
    PromptTooLong {
        /// Number of tokens of the prompt.
        prompt_tokens: usize,
        /// Largest number of tokens of one request.
        max_seq_len: usize,
    },
    /// The model has no embedding for a token id.
    #[error(
        "token id {token_id} at position {position}: expected an id below {vocab_size}, the model's vocabulary; encode the text with the model's own tokenizer"
    )]
    UnknownToken {
        /// The token id.
        token_id: u32,
        /// Its position in the prompt.
        position: usize,
        /// Number of tokens in the model's vocabulary.
        vocab_size: usize,
    },
}
// ANCHOR_END: submit

/// Why a pass failed, and with it the engine: nothing of the step is published. Requests and limits were checked when
/// they were submitted and memory was taken before the pass, so this is a fault of the machine or of the workbook.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The forward pass refused the batch.
    #[error(transparent)]
    Forward(#[from] CacheError),
}
