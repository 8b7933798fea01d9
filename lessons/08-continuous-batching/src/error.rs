//! What a client can do wrong, and what can go wrong while computing.

use crate::request::SeqId;
use generation::GenerateError;
use kv_cache::CacheError;

// ANCHOR: submit
/// Why a request was not accepted. Nothing was kept of it, and nothing will be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is nothing to continue.
    #[error("the prompt is empty: expected at least one token; give it some text")]
    EmptyPrompt,
    /// It could never run, however long it waits.
    #[error(
        "the prompt has {prompt_tokens} tokens, expected at most {max_seq_len}, what this engine holds for one request; shorten it"
    )]
    PromptTooLong {
        /// Tokens of the prompt.
        prompt_tokens: usize,
        /// Most tokens of one request.
        max_seq_len: usize,
    },
    /// A token id that has no embedding.
    #[error(
        "token id {token_id} at position {position}: expected an id below {vocab_size}, the model's vocabulary; encode the text with the model's own tokenizer"
    )]
    UnknownToken {
        /// The id.
        token_id: u32,
        /// Where it stands in the prompt.
        position: usize,
        /// The model's vocabulary.
        vocab_size: usize,
    },
}
// ANCHOR_END: submit

/// Why a step failed. Nothing was published and no request has a token more: the step can be tried again. Who joined in it stays, and a choice may
/// be asked for the same position once more.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The pass could not be computed.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// No token could be chosen for a request. It would be the same in each further try; once it is cancelled, the others go on.
    #[error("no token could be chosen for request {id}")]
    Choose {
        /// The request.
        id: SeqId,
        /// What is wrong with its logits.
        source: GenerateError,
    },
}
