//! A request from submission to its end: what was asked, what has been answered, and how many of its tokens are
//! computed.

use crate::limits::EngineLimits;
use serde::{Deserialize, Serialize};
use training::TokenId;

/// The number of a request. The engine counts numbers up and never uses one twice, so a late cancel can not hit another
/// request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeqId(pub u64);

impl std::fmt::Display for SeqId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

// ANCHOR: states
/// The state of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The request is accepted. It holds no memory of the runner, so it is not computed.
    Waiting,
    /// The request holds memory, and part of its known tokens is not computed yet.
    Prefilling,
    /// The request holds memory, and each step computes its newest token.
    Decoding,
    /// Nothing more will be computed for the request.
    Finished(FinishReason),
}

/// Why a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model generated an end-of-text token.
    Stop,
    /// The output has as many tokens as were asked for.
    Length,
    /// Prompt and output fill the context.
    Context,
    /// The request was cancelled, or its receiver was gone.
    Cancelled,
    /// No token could be chosen from the request's logits, for example because one of them is NaN.
    ChoiceFailed,
}
// ANCHOR_END: states

/// A single run of an earlier lesson ends for one of the first three reasons.
impl From<generation::FinishReason> for FinishReason {
    fn from(reason: generation::FinishReason) -> FinishReason {
        match reason {
            generation::FinishReason::Stop => FinishReason::Stop,
            generation::FinishReason::Length => FinishReason::Length,
            generation::FinishReason::Context => FinishReason::Context,
        }
    }
}

/// How long an answer may be. A plain number is an answer of up to so many tokens, which the model may end earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Largest number of tokens in the output.
    pub max_new_tokens: usize,
    /// Whether the answer goes on after an end-of-text token.
    pub ignore_eos: bool,
}

impl Length {
    /// An answer of exactly so many tokens, if the context holds them.
    pub fn exactly(tokens: usize) -> Length {
        Length {
            max_new_tokens: tokens,
            ignore_eos: true,
        }
    }
}

impl From<usize> for Length {
    fn from(max_new_tokens: usize) -> Length {
        Length {
            max_new_tokens,
            ignore_eos: false,
        }
    }
}

// ANCHOR: request
/// An accepted request. Exactly one of the [`crate::queues::Queues`] owns it.
///
/// Its tokens are those of `prompt`, then those of `output`; the index of a token in this sequence is its position.
/// Keys and values of the first `num_computed` tokens are in memory; the later ones are still to be computed.
///
/// `X` is what the submitter attached to the request. This lesson attaches nothing. The engine carries it along and
/// never looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<X = ()> {
    /// Number of the request.
    pub id: SeqId,
    /// Tokens that the text begins with. They never change.
    pub prompt: Vec<TokenId>,
    /// Tokens generated so far, without the end-of-text token.
    pub output: Vec<TokenId>,
    /// Number of tokens whose keys and values are in memory. The engine counts it up after each pass; a memory may set
    /// it at admission.
    pub num_computed: usize,
    /// Largest number of tokens in the output.
    pub max_new_tokens: usize,
    /// Whether an end-of-text token is a token as any other and ends nothing: for measurements of a fixed length.
    pub ignore_eos: bool,
    /// State of the request.
    pub status: Status,
    /// Data that the submitter attached.
    pub attached: X,
}
// ANCHOR_END: request

impl Request {
    /// A waiting request with nothing attached; see [`Request::with`].
    pub fn new(id: SeqId, prompt: &[TokenId], max_new_tokens: usize, max_seq_len: usize) -> Request {
        Request::with(id, prompt, max_new_tokens, max_seq_len, ())
    }
}

impl<X> Request<X> {
    /// A waiting request. It has room for its whole output, so that no later step allocates for it.
    pub fn with(id: SeqId, prompt: &[TokenId], max_new_tokens: usize, max_seq_len: usize, attached: X) -> Request<X> {
        // The context may end the output earlier than the request asks.
        let room = max_new_tokens.min(max_seq_len.saturating_sub(prompt.len()));
        Request {
            id,
            prompt: prompt.to_vec(),
            output: Vec::with_capacity(room),
            num_computed: 0,
            max_new_tokens,
            ignore_eos: false,
            status: Status::Waiting,
            attached,
        }
    }

    /// Number of tokens of prompt and output together.
    pub fn num_tokens(&self) -> usize {
        self.prompt.len() + self.output.len()
    }

    /// Prompt and output, in the order of their positions.
    pub fn tokens(&self) -> impl Iterator<Item = TokenId> {
        self.prompt.iter().chain(&self.output).copied()
    }

    /// Whether the request has ended.
    pub fn is_finished(&self) -> bool {
        matches!(self.status, Status::Finished(_))
    }

    /// Ends the request.
    pub fn finish(&mut self, reason: FinishReason) {
        self.status = Status::Finished(reason);
    }

    /// The reason why the request needs no further token; `None` while it needs one. The limit on new tokens is checked
    /// before the context, as in a single run.
    pub fn exhausted(&self, max_seq_len: usize) -> Option<FinishReason> {
        // Where both limits are reached at once, the reason is `Length`.
        if self.output.len() >= self.max_new_tokens {
            Some(FinishReason::Length)
        } else if self.num_tokens() >= max_seq_len {
            Some(FinishReason::Context)
        } else {
            None
        }
    }

    /// Counts `num_rows` more tokens as computed. A request whose known tokens are all computed decodes from then on.
    pub fn advance(&mut self, num_rows: usize) {
        self.num_computed += num_rows;
        // A request that was cancelled while the pass computed stays finished.
        if self.num_computed == self.num_tokens() && !self.is_finished() {
            self.status = Status::Decoding;
        }
    }

    // ANCHOR: accept
    /// Takes the next token, and ends the request if the token ends the text or a limit is reached. Returns the token
    /// if it belongs to the output; an end-of-text token does not, unless the request ignores it.
    pub fn accept(&mut self, token: TokenId, limits: &EngineLimits) -> Option<TokenId> {
        // Before the push: an end-of-text token is no part of the output.
        if !self.ignore_eos && limits.end_of_text.contains(&token) {
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
