//! What an engine reports to the caller of a step, and what the caller answers.

use crate::request::{FinishReason, SeqId};
use training::TokenId;

// ANCHOR: event
/// What happened to a request. The tokens of a request come in order; its end comes once for each accepted request, and
/// last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A token of the output.
    Token {
        /// Number of the request.
        id: SeqId,
        /// The new token.
        token: TokenId,
    },
    /// The request is over and holds no memory any more.
    Finished {
        /// Number of the request.
        id: SeqId,
        /// Why it ended.
        reason: FinishReason,
        /// All tokens of the output, without the end-of-text token.
        output: &'a [TokenId],
    },
}

/// What the receiver did with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Delivery {
    /// The receiver took the event.
    Taken,
    /// The receiver is gone: this request ends, the others go on.
    ReceiverGone,
}
// ANCHOR_END: event

impl Event<'_> {
    /// Number of the request that the event is about.
    pub fn id(&self) -> SeqId {
        match *self {
            Event::Token { id, .. } | Event::Finished { id, .. } => id,
        }
    }
}
