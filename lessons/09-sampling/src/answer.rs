//! The text of one answer as it streams: whole characters, up to a stop.

use crate::params::SamplingParams;
use crate::stop::StopText;
use generation::text::TextStream;
use loading::Tokenizer;
use training::TokenId;

/// Turns the tokens of one answer into the text that its reader sees. An engine knows the tokens that end every text; what ends this one alone, by
/// token or by text, is known here, and whoever asks the engine for tokens stops asking when [`AnswerText::is_over`].
pub struct AnswerText<'a> {
    stream: TextStream<'a>,
    stop: StopText,
    stop_ids: Vec<TokenId>,
    is_over: bool,
}

impl<'a> AnswerText<'a> {
    /// The text that follows a prompt.
    pub fn new(tokenizer: &'a Tokenizer, params: &SamplingParams) -> AnswerText<'a> {
        AnswerText {
            stream: TextStream::continuing(tokenizer),
            stop: StopText::new(&params.stop),
            stop_ids: params.stop_ids.clone(),
            is_over: false,
        }
    }

    // ANCHOR: push
    /// Takes the next token and returns the text that may be shown now; often empty. A token that ends the answer is no part of it.
    pub fn push(&mut self, token: TokenId) -> String {
        if self.is_over || self.stop_ids.contains(&token) {
            self.is_over = true;
            return String::new();
        }
        let released = self.stop.push(self.stream.push(token));
        self.is_over = released.stop.is_some();
        released.text
    }

    /// Whether a token or a text has ended the answer. What follows changes nothing.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The end of the answer, whatever ended it: what was held back as the beginning of a stop has not become one.
    pub fn finish(mut self) -> String {
        let rest = self.stream.finish();
        self.stop.push(rest).text + &self.stop.finish()
    }
    // ANCHOR_END: push
}
