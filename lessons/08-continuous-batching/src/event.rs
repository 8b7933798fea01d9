//! What an engine tells, and what it is told in return.

use crate::request::{FinishReason, SeqId};
use training::TokenId;

// ANCHOR: event
/// What happened to a request. Tokens of one request come in order; the end comes once for each accepted request, and last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A token of the output.
    Token {
        /// Whose.
        id: SeqId,
        /// The token.
        token: TokenId,
    },
    /// It is over, and holds nothing any more.
    Finished {
        /// Whose end.
        id: SeqId,
        /// Why.
        reason: FinishReason,
        /// All tokens of the output, without the end-of-text token.
        output: &'a [TokenId],
    },
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Delivery {
    /// Somebody took it.
    Taken,
    /// Nobody is there any more: this request ends, and no other.
    ReceiverGone,
}
// ANCHOR_END: event

impl Event<'_> {
    /// The request that it is about.
    pub fn id(&self) -> SeqId {
        match *self {
            Event::Token { id, .. } | Event::Finished { id, .. } => id,
        }
    }
}
