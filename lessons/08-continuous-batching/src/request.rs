//! A request from submission to its end: what was asked, what has been answered, and how far the computing got.

use crate::limits::EngineLimits;
use serde::{Deserialize, Serialize};
use training::TokenId;

/// A request's number. The engine counts them up, so a number is never used twice, and a late cancel can hit nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeqId(pub u64);

impl std::fmt::Display for SeqId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

// ANCHOR: states
/// Where a request stands. It only ever moves downwards in this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Accepted; holds no memory.
    Waiting,
    /// Holds memory; its prompt is not computed yet.
    Prefilling,
    /// Holds memory; each step computes its newest token.
    Decoding,
    /// Nothing more will be computed for it.
    Finished(FinishReason),
}

/// Why a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model wrote an end-of-text token.
    Stop,
    /// All tokens asked for were written.
    Length,
    /// The context is full.
    Context,
    /// Somebody cancelled it, or nobody was there any more to take its tokens.
    Cancelled,
}
// ANCHOR_END: states

/// The reasons that one request alone knows too.
impl From<generation::FinishReason> for FinishReason {
    fn from(reason: generation::FinishReason) -> FinishReason {
        match reason {
            generation::FinishReason::Stop => FinishReason::Stop,
            generation::FinishReason::Length => FinishReason::Length,
            generation::FinishReason::Context => FinishReason::Context,
        }
    }
}

// ANCHOR: request
/// A request that was accepted. It is owned by exactly one of the [`crate::queues::Queues`].
///
/// Its tokens are those of `prompt`, then those of `output`; a token's place in this row is its position. The first `num_computed` of them
/// have their keys and values in memory, the others are what the next step computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number.
    pub id: SeqId,
    /// What it begins with. Never changes.
    pub prompt: Vec<TokenId>,
    /// What was generated so far, without the end-of-text token. Grows by one token a step.
    pub output: Vec<TokenId>,
    /// Tokens whose keys and values are in memory; written by [`Request::accept`].
    pub num_computed: usize,
    /// Most tokens of the output.
    pub max_new_tokens: usize,
    /// Where it stands.
    pub status: Status,
}
// ANCHOR_END: request

impl Request {
    /// A waiting request with room for its whole output, so that no later step allocates for it.
    pub fn new(id: SeqId, prompt: &[TokenId], max_new_tokens: usize, max_seq_len: usize) -> Request {
        let room = max_new_tokens.min(max_seq_len.saturating_sub(prompt.len()));
        Request {
            id,
            prompt: prompt.to_vec(),
            output: Vec::with_capacity(room),
            num_computed: 0,
            max_new_tokens,
            status: Status::Waiting,
        }
    }

    /// Tokens of prompt and output together.
    pub fn num_tokens(&self) -> usize {
        self.prompt.len() + self.output.len()
    }

    /// Prompt and output, in the order of their positions.
    pub fn tokens(&self) -> impl Iterator<Item = TokenId> {
        self.prompt.iter().chain(&self.output).copied()
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        matches!(self.status, Status::Finished(_))
    }

    /// Ends it.
    pub fn finish(&mut self, reason: FinishReason) {
        self.status = Status::Finished(reason);
    }

    /// Why the model need not be asked for another token; `None` while it has to be. The order is that of the loop for one request: first
    /// the tokens asked for, then the context.
    pub fn exhausted(&self, max_seq_len: usize) -> Option<FinishReason> {
        if self.output.len() >= self.max_new_tokens {
            Some(FinishReason::Length)
        } else if self.num_tokens() >= max_seq_len {
            Some(FinishReason::Context)
        } else {
            None
        }
    }

    // ANCHOR: accept
    /// Takes the token that follows all others: these are computed now. Ends the request where the token or the limits say so. Returns
    /// the token if it belongs to the output; an end-of-text token does not.
    pub fn accept(&mut self, token: TokenId, limits: &EngineLimits) -> Option<TokenId> {
        self.num_computed = self.num_tokens();
        self.status = Status::Decoding;
        if limits.end_of_text.contains(&token) {
            self.finish(FinishReason::Stop);
            return None;
        }
        self.output.push(token);
        if let Some(reason) = self.exhausted(limits.max_seq_len) {
            self.finish(reason);
        }
        Some(token)
    }
    // ANCHOR_END: accept
}
