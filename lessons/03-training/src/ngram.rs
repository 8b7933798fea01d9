//! The baselines: unigram, bigram and trigram models on the same tokens.
//!
//! An n-gram model predicts a token from the n - 1 before it, by counting. It is what a language model must beat before
//! anyone need believe that it has learned more than which words stand side by side.
//!
//! Smoothing is Witten and Bell's, interpolated: a history `h` seen `c(h)` times with `t(h)` different tokens after it
//! gives `p(w|h) = (c(hw) + t(h) p(w|h')) / (c(h) + t(h))`, where `h'` is `h` without its oldest token. The unigram falls
//! back on the uniform `1 / vocab_size`, so no token has probability 0. Nothing is tuned. Source: Witten and Bell 1991, IEEE
//! Transactions on Information Theory 37(4); comparison: Chen and Goodman 1999.

use std::collections::HashMap;

use crate::config::TokenId;

/// Longest n-gram that is counted.
pub const MAX_ORDER: usize = 3;

/// What followed a history.
#[derive(Debug, Clone, Default)]
struct Followers {
    total: u32,
    counts: HashMap<TokenId, u32>,
}

/// Counts of all n-grams up to [`MAX_ORDER`].
#[derive(Debug, Clone)]
pub struct Ngram {
    vocab_size: usize,
    /// By order - 1, then by history (of order - 1 tokens).
    followers: [HashMap<[TokenId; MAX_ORDER - 1], Followers>; MAX_ORDER],
    tokens: u64,
}

impl Ngram {
    /// A model that has seen nothing.
    pub fn new(vocab_size: usize) -> Ngram {
        Ngram {
            vocab_size,
            followers: Default::default(),
            tokens: 0,
        }
    }

    /// Counts one window of training text. Histories do not reach over its beginning. Cost: [`MAX_ORDER`] hash look-ups a
    /// token.
    pub fn count(&mut self, tokens: &[TokenId]) {
        for (position, &token) in tokens.iter().enumerate() {
            for order in 1..=MAX_ORDER.min(position + 1) {
                let key = history(&tokens[..position], order);
                let followers = self.followers[order - 1].entry(key).or_default();
                followers.total += 1;
                *followers.counts.entry(token).or_default() += 1;
            }
        }
        self.tokens += tokens.len() as u64;
    }

    /// Tokens counted.
    pub fn num_tokens(&self) -> u64 {
        self.tokens
    }

    /// The probability of `token` after `before`, by n-grams of at most `order`. Sums to 1 over the vocabulary.
    ///
    /// Panics unless `1 <= order <= MAX_ORDER`.
    pub fn probability(&self, before: &[TokenId], token: TokenId, order: usize) -> f64 {
        assert!(
            (1..=MAX_ORDER).contains(&order),
            "order {order} must be in 1..={MAX_ORDER}"
        );
        let mut probability = 1.0 / self.vocab_size as f64;
        for order in 1..=order.min(before.len() + 1) {
            if let Some(followers) = self.followers[order - 1].get(&history(before, order)) {
                let count = f64::from(followers.counts.get(&token).copied().unwrap_or(0));
                let different = followers.counts.len() as f64;
                probability =
                    (count + different * probability) / (f64::from(followers.total) + different);
            }
        }
        probability
    }

    /// The surprise of a document in nats: every token but the first, each once, as in [`metrics`](crate::metrics).
    pub fn nats(&self, tokens: &[TokenId], order: usize) -> f64 {
        (1..tokens.len())
            .map(|position| {
                -self
                    .probability(&tokens[..position], tokens[position], order)
                    .ln()
            })
            .sum()
    }
}

/// The last `order - 1` tokens before a position, padded with ids that no vocabulary has.
fn history(before: &[TokenId], order: usize) -> [TokenId; MAX_ORDER - 1] {
    let mut key = [TokenId(u32::MAX); MAX_ORDER - 1];
    let len = order - 1;
    key[..len].copy_from_slice(&before[before.len() - len..]);
    key
}
