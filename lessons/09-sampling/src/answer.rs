//! The text of one answer while it streams: whole characters, up to a stop.

use crate::params::SamplingParams;
use crate::stop::StopText;
use generation::text::TextStream;
use loading::Tokenizer;
use training::TokenId;

/// Turns the tokens of one answer into the text that is shown. The engine ends an answer at the model's end tokens. The
/// stop tokens and stop texts of a single request are found here, and the caller cancels the request when
/// [`AnswerText::is_over`].
pub struct AnswerText<'a> {
    stream: TextStream<'a>,
    stop: StopText,
    stop_ids: Vec<TokenId>,
    is_over: bool,
}

impl<'a> AnswerText<'a> {
    /// The empty text of an answer that continues a prompt.
    pub fn new(tokenizer: &'a Tokenizer, params: &SamplingParams) -> AnswerText<'a> {
        AnswerText {
            stream: TextStream::continuing(tokenizer),
            stop: StopText::new(&params.stop),
            stop_ids: params.stop_ids.clone(),
            is_over: false,
        }
    }

    // ANCHOR: push
    /// Adds the next token and returns the text that may be shown now, often none. A token that ends the answer is not
    /// part of it.
    pub fn push(&mut self, token: TokenId) -> String {
        if self.is_over || self.stop_ids.contains(&token) {
            self.is_over = true;
            return String::new();
        }
        let released = self.stop.push(self.stream.push(token));
        self.is_over = released.stop.is_some();
        released.text
    }

    /// Whether a token or a text has ended the answer. Later tokens change nothing.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The last text of the answer: the text that was held back and did not become a stop.
    pub fn finish(mut self) -> String {
        let rest = self.stream.finish();
        self.stop.push(rest).text + &self.stop.finish()
    }
    // ANCHOR_END: push
}
