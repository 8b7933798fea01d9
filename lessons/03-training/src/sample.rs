//! The shortest way to text: the most likely token, again and again, with everything computed anew for each one.
//!
//! Good enough to look at a model in training. Lesson 05 asks what this loop costs.

use crate::config::TokenId;
use crate::model::Llama;

/// What was generated after one prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// New tokens, without an end token.
    pub tokens: Vec<TokenId>,
    /// Whether the model ended by itself, not at a limit.
    pub ended: bool,
}

/// Goes on after each prompt with the most likely tokens, until one of `ends`, `max_tokens` new ones, or the model's
/// last position. Cost: each new token sends its whole text through the model.
pub fn greedy(model: &Llama, prompts: &[Vec<TokenId>], max_tokens: usize, ends: &[TokenId]) -> Vec<Sample> {
    let new = |_| Sample {
        tokens: Vec::new(),
        ended: false,
    };
    let mut samples: Vec<Sample> = prompts.iter().map(new).collect();
    let mut texts: Vec<Vec<TokenId>> = prompts.to_vec();
    let mut running: Vec<usize> = (0..prompts.len()).collect();
    loop {
        running.retain(|&i| {
            let room = texts[i].len() < model.config.max_seq_len;
            !samples[i].ended && room && samples[i].tokens.len() < max_tokens
        });
        if running.is_empty() {
            return samples;
        }
        let reads: Vec<&Vec<TokenId>> = running.iter().map(|&i| &texts[i]).collect();
        let logits = model.last_logits(&reads);
        let rows = logits
            .as_slice()
            .expect("row-major")
            .chunks_exact(model.config.vocab_size);
        for (&i, row) in running.iter().zip(rows) {
            let token = most_likely(row);
            if ends.contains(&token) {
                samples[i].ended = true;
            } else {
                samples[i].tokens.push(token);
                texts[i].push(token);
            }
        }
    }
}

/// The token with the largest logit, the first one among equals.
pub fn most_likely(logits: &[f32]) -> TokenId {
    let mut best = 0;
    for (index, &logit) in logits.iter().enumerate() {
        if logit > logits[best] {
            best = index;
        }
    }
    TokenId(best as u32)
}
