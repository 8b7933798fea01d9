//! The baselines: unigram, bigram and trigram models on the same tokens.
//!
//! An n-gram model predicts a token from the n - 1 before it, by counting. A language model that does not beat it has
//! learned no more than which words stand side by side.
//!
//! Smoothing is Witten and Bell's, interpolated: a history `h` seen `c(h)` times with `t(h)` different tokens after it
//! gives `p(w|h) = (c(hw) + t(h) p(w|h')) / (c(h) + t(h))`, where `h'` is `h` without its oldest token. The unigram
//! falls back on the uniform `1 / vocab_size`, so no token has probability 0. Nothing is tuned. Source: Witten and Bell
//! 1991, IEEE Transactions on Information Theory 37(4); comparison: Chen and Goodman 1999.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::config::TokenId;

/// Longest n-gram that is counted.
pub const MAX_ORDER: usize = 3;

/// Bits of a packed key that hold one token, plus one so that "no token" differs from token 0.
const TOKEN_BITS: u32 = 20;

/// What followed a history.
#[derive(Debug, Clone, Copy, Default)]
struct Followers {
    /// Number of tokens.
    total: u32,
    /// Number of different tokens.
    different: u32,
}

/// Counts of all n-grams up to [`MAX_ORDER`].
#[derive(Debug, Clone)]
pub struct Ngram {
    vocab_size: usize,
    /// Number of occurrences of each n-gram of any order, by its packed key.
    counts: FastMap<u32>,
    /// What followed each history, by its packed key.
    followers: FastMap<Followers>,
    tokens: u64,
}

impl Ngram {
    /// A model that has seen nothing. Panics when the vocabulary is too large for packed keys (about a million pieces).
    pub fn new(vocab_size: usize) -> Ngram {
        assert!(vocab_size < (1 << TOKEN_BITS) - 1, "vocabulary of {vocab_size} pieces");
        Ngram {
            vocab_size,
            counts: FastMap::default(),
            followers: FastMap::default(),
            tokens: 0,
        }
    }

    /// Counts one window of training text. Histories do not reach over its beginning. Cost: two hash look-ups for each
    /// order and token.
    ///
    /// Count each text once: the counts of a book that is read three times look three times as certain as they are.
    pub fn count(&mut self, tokens: &[TokenId]) {
        for position in 0..tokens.len() {
            for order in 1..=MAX_ORDER.min(position + 1) {
                let count = self
                    .counts
                    .entry(pack(&tokens[position + 1 - order..=position]))
                    .or_default();
                *count += 1;
                let is_new = *count == 1;
                let history = pack(&tokens[position + 1 - order..position]);
                let followers = self.followers.entry(history).or_default();
                followers.total += 1;
                followers.different += u32::from(is_new);
            }
        }
        self.tokens += tokens.len() as u64;
    }

    /// Number of tokens counted.
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
        for len in 0..order.min(before.len() + 1) {
            let history = pack(&before[before.len() - len..]);
            if let Some(followers) = self.followers.get(&history) {
                let ngram = append(history, token);
                let count = f64::from(self.counts.get(&ngram).copied().unwrap_or(0));
                let (total, different) = (f64::from(followers.total), f64::from(followers.different));
                probability = (count + different * probability) / (total + different);
            }
        }
        probability
    }

    /// The surprise of a document in nats: every token but the first, each once, as in [`metrics`](crate::metrics).
    pub fn nats(&self, tokens: &[TokenId], order: usize) -> f64 {
        (1..tokens.len())
            .map(|position| -self.probability(&tokens[..position], tokens[position], order).ln())
            .sum()
    }
}

/// Up to [`MAX_ORDER`] tokens as one number; different sequences give different numbers.
fn pack(tokens: &[TokenId]) -> u64 {
    tokens.iter().fold(0, |key, &token| append(key, token))
}

fn append(key: u64, token: TokenId) -> u64 {
    (key << TOKEN_BITS) | u64::from(token.0 + 1)
}

type FastMap<V> = HashMap<u64, V, BuildHasherDefault<PackedHasher>>;

/// A hash for keys that are one number already: a multiplication whose high half is folded into the low one. No
/// attacker chooses keys that collide, so the keyed hash of the standard library (3 times slower here) is not needed.
#[derive(Default)]
struct PackedHasher(u64);

impl Hasher for PackedHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        let wide = u128::from(self.0 ^ key) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (wide as u64) ^ ((wide >> 64) as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
