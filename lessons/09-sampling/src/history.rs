//! Counts of the tokens in a request's text, for penalties.

use crate::exercises::{Seen, penalize};
use crate::params::SamplingParams;
use training::TokenId;

/// Scratch counts over the vocabulary, shared by all requests in turn. Only the entries of tokens in the text are
/// written and cleared, so a short text is cheap with a large vocabulary.
#[derive(Debug, Default)]
pub struct History {
    /// `[vocab_size]`, all default between two calls.
    seen: Vec<Seen>,
    /// The tokens whose entries differ from the default.
    tokens: Vec<TokenId>,
}

impl History {
    /// Applies a request's penalties once to each token of its prompt and output. Shape: `logits` `[vocab_size]`. Cost:
    /// two writes per token of the text; allocates only if the vocabulary is larger than any before.
    ///
    /// Prompt and output are separate, because presence and frequency count the output alone.
    ///
    /// # Panics
    /// If the text contains a token outside of the vocabulary.
    pub fn penalize(&mut self, params: &SamplingParams, prompt: &[TokenId], output: &[TokenId], logits: &mut [f32]) {
        if self.seen.len() < logits.len() {
            self.seen.resize(logits.len(), Seen::default());
            self.tokens.reserve(logits.len());
        }
        for token in prompt {
            self.note(*token).in_prompt = true;
        }
        for token in output {
            self.note(*token).in_output += 1;
        }
        for token in self.tokens.drain(..) {
            // Taking the entry leaves the default for the next request.
            let seen = std::mem::take(&mut self.seen[token.index()]);
            let logit = &mut logits[token.index()];
            *logit = penalize(*logit, seen, params);
        }
    }

    /// The entry of a token, which is listed in `tokens` when it is first written.
    fn note(&mut self, token: TokenId) -> &mut Seen {
        let seen = &mut self.seen[token.index()];
        if *seen == Seen::default() {
            self.tokens.push(token);
        }
        seen
    }
}
