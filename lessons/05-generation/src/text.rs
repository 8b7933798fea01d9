//! Tokens to text as they come.

use crate::characters::take_complete_characters;
use loading::Tokenizer;
use training::TokenId;

/// Decodes an answer token by token. All that it hands out, put together, equals the one-shot decode of the same tokens; no piece
/// ends inside a character. Special tokens are left out, as the one-shot decode leaves them out.
///
/// Cost: each byte is looked at once (or up to four times while its character is incomplete); the text so far is never decoded again.
pub struct TextStream<'a> {
    tokenizer: &'a Tokenizer,
    /// Bytes of a character whose end has not come; at most three after each call.
    waiting: Vec<u8>,
    text: String,
    /// Whether one space at the very start is still to be dropped, as some tokenizers' decoders do.
    strip_space: bool,
}

impl<'a> TextStream<'a> {
    /// A stream that adds up to [`Tokenizer::decode`] of its tokens.
    pub fn new(tokenizer: &'a Tokenizer) -> TextStream<'a> {
        TextStream {
            strip_space: tokenizer.strips_leading_space(),
            ..TextStream::continuing(tokenizer)
        }
    }

    /// A stream that continues a text: a space at its start stays, since it stands between prompt and answer.
    pub fn continuing(tokenizer: &'a Tokenizer) -> TextStream<'a> {
        TextStream {
            tokenizer,
            waiting: Vec::new(),
            text: String::new(),
            strip_space: false,
        }
    }

    /// Takes a token and returns the text that is now complete; often empty, never a part of a character.
    pub fn push(&mut self, token: TokenId) -> &str {
        self.text.clear();
        if self.tokenizer.is_special(token) {
            return "";
        }
        let mut bytes = self.tokenizer.token_bytes(token);
        if self.strip_space && !bytes.is_empty() {
            bytes = bytes.strip_prefix(b" ").unwrap_or(bytes);
            self.strip_space = false;
        }
        // ANCHOR: push
        self.waiting.extend_from_slice(bytes);
        let taken = take_complete_characters(&self.waiting, &mut self.text);
        self.waiting.drain(..taken);
        &self.text
        // ANCHOR_END: push
    }

    /// The end of the text: what still waits can not be completed any more and becomes one replacement character.
    pub fn finish(self) -> &'static str {
        if self.waiting.is_empty() { "" } else { "\u{fffd}" }
    }
}

/// One-shot decode of an answer that continues a prompt, by way of [`TextStream::continuing`].
pub fn decode_continuation(tokenizer: &Tokenizer, tokens: &[TokenId]) -> String {
    let mut stream = TextStream::continuing(tokenizer);
    let mut text = String::new();
    for token in tokens {
        text.push_str(stream.push(*token));
    }
    text + stream.finish()
}
