//! Tokens to text, for many requests at a time.

use crate::event::{Delivery, Event};
use crate::request::SeqId;
use generation::text::TextStream;
use loading::Tokenizer;
use std::collections::HashMap;

/// Turns an engine's events into text, each request's in its own stream: what one of them holds back never shows up in another one's.
pub struct TextStreams<'a> {
    tokenizer: &'a Tokenizer,
    streams: HashMap<SeqId, TextStream<'a>>,
}

impl<'a> TextStreams<'a> {
    /// Streams of texts that continue their prompts.
    pub fn new(tokenizer: &'a Tokenizer) -> TextStreams<'a> {
        TextStreams {
            tokenizer,
            streams: HashMap::new(),
        }
    }

    // ANCHOR: text
    /// Takes an event and calls `on_text` with the text that is complete now. It is called for each token, also with an empty text while a
    /// character is incomplete, so that a receiver that is gone is noticed at the next token. At the end it is called once more if something
    /// was held back. All texts of a request, put together, are the one-shot decode of its output.
    pub fn push(&mut self, event: &Event<'_>, on_text: &mut dyn FnMut(SeqId, &str) -> Delivery) -> Delivery {
        match *event {
            Event::Token { id, token } => {
                let stream = (self.streams.entry(id)).or_insert_with(|| TextStream::continuing(self.tokenizer));
                on_text(id, stream.push(token))
            }
            Event::Finished { id, .. } => match self.streams.remove(&id).map(TextStream::finish) {
                Some(rest) if !rest.is_empty() => on_text(id, rest),
                _ => Delivery::Taken,
            },
        }
    }
    // ANCHOR_END: text

    /// Streams that have begun and not ended.
    pub fn num_open(&self) -> usize {
        self.streams.len()
    }
}
