//! A client of all requests, for tests.

use crate::event::{Delivery, Event};
use crate::request::{FinishReason, SeqId};
use std::collections::BTreeMap;
use training::TokenId;

/// Takes all events: tokens and end of each request.
#[derive(Debug, Default)]
pub struct Listener {
    /// Tokens that each request was given.
    pub tokens: BTreeMap<SeqId, Vec<TokenId>>,
    /// Why each request ended, once it has.
    pub ends: BTreeMap<SeqId, FinishReason>,
}

impl Listener {
    /// Takes an event.
    ///
    /// # Panics
    /// If a token comes after the end, if an end comes twice, or if its output differs from the tokens that came
    /// before.
    pub fn take(&mut self, event: Event<'_>) -> Delivery {
        match event {
            Event::Token { id, token } => {
                // The end is the last event of a request.
                assert!(!self.ends.contains_key(&id), "a token of {id} after its end");
                self.tokens.entry(id).or_default().push(token);
            }
            Event::Finished { id, reason, output } => {
                let told = self.tokens.entry(id).or_default();
                assert_eq!(told, output, "the output of {id} is what was told");
                assert_eq!(self.ends.insert(id, reason), None, "{id} ended twice");
            }
        }
        Delivery::Taken
    }
}
