//! Tokens to text as they arrive.

use crate::characters::take_complete_characters;
use loading::Tokenizer;
use training::TokenId;

/// Decodes an answer token by token. The pieces of text together equal the one-shot decode of the same tokens, and no
/// piece ends inside a character. Special tokens are left out, as in the one-shot decode.
///
/// Cost: each byte is read once (up to four times while its character is incomplete). The text so far is never decoded
/// again.
pub struct TextStream<'a> {
    tokenizer: &'a Tokenizer,
    /// Bytes of a character whose end has not arrived; at most three after each call.
    waiting: Vec<u8>,
    /// The text that the last call of `push` returned.
    text: String,
    /// Whether the next token begins the text. Some tokenizers drop a space there in their decoder.
    is_at_start: bool,
}

impl<'a> TextStream<'a> {
    /// A stream whose pieces together equal [`Tokenizer::decode`] of its tokens.
    pub fn new(tokenizer: &'a Tokenizer) -> TextStream<'a> {
        TextStream {
            is_at_start: true,
            ..TextStream::continuing(tokenizer)
        }
    }

    /// A stream that continues a text: a space at its start stays, because it separates prompt and answer.
    pub fn continuing(tokenizer: &'a Tokenizer) -> TextStream<'a> {
        TextStream {
            tokenizer,
            waiting: Vec::new(),
            text: String::new(),
            is_at_start: false,
        }
    }

    /// Takes a token and returns the text that is now complete. It is often empty and never ends inside a character.
    pub fn push(&mut self, token: TokenId) -> &str {
        self.text.clear();
        if self.tokenizer.is_special(token) {
            return "";
        }
        let mut bytes = self.tokenizer.token_bytes(token);
        if self.is_at_start && !bytes.is_empty() {
            bytes = self.tokenizer.first_token_bytes(token);
            self.is_at_start = false;
        }
        // ANCHOR: push
        self.waiting.extend_from_slice(bytes);
        let taken = take_complete_characters(&self.waiting, &mut self.text);
        self.waiting.drain(..taken);
        &self.text
        // ANCHOR_END: push
    }

    /// Ends the text. Bytes that still wait can not be completed any more and become one replacement character.
    pub fn finish(self) -> &'static str {
        if self.waiting.is_empty() { "" } else { "\u{fffd}" }
    }
}

/// Decodes a whole answer that continues a prompt, with [`TextStream::continuing`].
pub fn decode_continuation(tokenizer: &Tokenizer, tokens: &[TokenId]) -> String {
    let mut stream = TextStream::continuing(tokenizer);
    let mut text = String::new();
    for token in tokens {
        text.push_str(stream.push(*token));
    }
    text + stream.finish()
}
