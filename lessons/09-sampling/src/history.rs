//! Which tokens a request has seen, for penalties.

use crate::params::SamplingParams;
use crate::penalty::{Seen, penalize};
use training::TokenId;

/// Counts over the vocabulary, used again for each request. Only the entries of tokens that were seen are written and cleaned, so a short text costs
/// little with a large vocabulary.
#[derive(Debug, Default)]
pub struct History {
    seen: Vec<Seen>,
    tokens: Vec<TokenId>,
}

impl History {
    /// Applies a request's penalties to each token of its prompt and output, once. Shape: `logits` `[vocab_size]`. Cost: two writes for each token of
    /// the text; allocates only for a larger vocabulary than any before.
    ///
    /// Prompt and output come apart, for only the output counts for presence and frequency. A request that is computed again keeps them apart, too.
    ///
    /// # Panics
    /// If the text has a token that `logits` has not.
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
            let seen = std::mem::take(&mut self.seen[token.index()]);
            let logit = &mut logits[token.index()];
            *logit = penalize(*logit, seen, params);
        }
    }

    fn note(&mut self, token: TokenId) -> &mut Seen {
        let seen = &mut self.seen[token.index()];
        if *seen == Seen::default() {
            self.tokens.push(token);
        }
        seen
    }
}
