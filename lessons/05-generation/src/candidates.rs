//! The most likely next tokens, and tokens as a reader can see them.

use crate::lanes::exp;
use loading::Tokenizer;
use serde::Serialize;
use training::TokenId;

/// A token and its probability to be the next one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The token.
    pub token: TokenId,
    /// Softmax over the whole vocabulary.
    pub probability: f32,
}

/// Returns the `count` most likely tokens, the most likely first; of equal ones the lowest id first. Shape: `logits`
/// `[vocab_size]`.
///
/// Cost: one pass over the logits for each candidate and one for the sum, which for a handful is cheaper than a sort.
/// NaN is never chosen.
pub fn most_likely(logits: &[f32], count: usize) -> Vec<Candidate> {
    let mut best: Vec<usize> = Vec::with_capacity(count);
    for _ in 0..count.min(logits.len()) {
        let rest = (0..logits.len()).filter(|id| !best.contains(id) && !logits[*id].is_nan());
        match rest.reduce(|a, b| if logits[b] > logits[a] { b } else { a }) {
            Some(id) => best.push(id),
            None => break,
        }
    }
    let Some(&first) = best.first() else {
        return Vec::new();
    };
    let largest = logits[first];
    let sum: f64 = logits.iter().map(|logit| f64::from(exp(logit - largest))).sum();
    best.into_iter()
        .map(|id| Candidate {
            token: TokenId(id as u32),
            probability: (f64::from(exp(logits[id] - largest)) / sum) as f32,
        })
        .collect()
}

/// A token in visible characters: a leading space as `·`, line ends as `↵`, other control characters and incomplete
/// characters as bytes.
pub fn visible(tokenizer: &Tokenizer, token: TokenId) -> String {
    let bytes = tokenizer.token_bytes(token);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return bytes.iter().map(|byte| format!("‹{byte:02x}›")).collect();
    };
    let text = match text.strip_prefix(' ') {
        Some(rest) => format!("·{rest}"),
        None => text.to_owned(),
    };
    let shown = |c: char| match c {
        '\n' => "↵".to_owned(),
        c if c.is_control() => format!("‹{:02x}›", u32::from(c)),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_likely_come_first_and_shares_are_of_the_whole() {
        let logits = [0.0, 2f32.ln(), f32::NEG_INFINITY, 2f32.ln(), 3f32.ln()];
        let best = most_likely(&logits, 3);
        let ids: Vec<u32> = best.iter().map(|c| c.token.0).collect();
        assert_eq!(ids, [4, 1, 3]);
        let shares: Vec<f32> = best.iter().map(|c| c.probability).collect();
        fixtures::assert_close(&shares, &[3.0 / 8.0, 2.0 / 8.0, 2.0 / 8.0], 1e-6);
    }

    #[test]
    fn more_candidates_than_tokens_are_all_tokens() {
        assert_eq!(most_likely(&[1.0], 5).len(), 1);
        assert_eq!(most_likely(&[f32::NAN], 5), []);
        assert_eq!(most_likely(&[], 5), []);
    }
}
