//! The shortest way to text: a token, again and again, with everything computed anew for each one.
//!
//! Good enough to look at a model in training. Lesson 05 asks what this loop costs.

use crate::config::TokenId;
use crate::model::Llama;
use crate::random::Random;

/// What an address of [`Random`] is for.
const DRAW: u64 = 31;

/// What was generated after one prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// New tokens, without an end token.
    pub tokens: Vec<TokenId>,
    /// Whether the model ended by itself, not at a limit.
    pub ended: bool,
}

/// How the next token is taken from the logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The most likely one.
    Greedy,
    /// Drawn with the model's own probabilities (temperature 1). The seed, the prompt's number and the position
    /// determine the draw.
    Drawn {
        /// The seed of all draws.
        seed: u64,
    },
}

/// Goes on after each prompt, until one of `ends`, `max_tokens` new tokens, or the model's last position. Prompt `i` is
/// numbered `first + i`, for draws. Cost: each new token sends its whole text through the model.
pub fn generate(
    model: &Llama,
    prompts: &[Vec<TokenId>],
    choice: Choice,
    first: usize,
    max_tokens: usize,
    ends: &[TokenId],
) -> Vec<Sample> {
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
            let token = match choice {
                Choice::Greedy => most_likely(row),
                Choice::Drawn { seed } => {
                    let place = [seed, DRAW, (first + i) as u64, texts[i].len() as u64];
                    drawn(row, Random::at(&place).unit())
                }
            };
            if ends.contains(&token) {
                samples[i].ended = true;
            } else {
                samples[i].tokens.push(token);
                texts[i].push(token);
            }
        }
    }
}

/// The token at which the running sum of the probabilities passes `at`, a number from 0 to 1.
fn drawn(logits: &[f32], at: f64) -> TokenId {
    let largest = crate::vector::max(logits);
    let share = |logit: &f32| f64::from(logit - largest).exp();
    let mut left = at * logits.iter().map(share).sum::<f64>();
    let passes = logits.iter().position(|logit| {
        left -= share(logit);
        left < 0.0
    });
    // Rounding may leave the sum just above the last share.
    TokenId(passes.unwrap_or(logits.len() - 1) as u32)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_drawn_as_often_as_they_are_likely() {
        let logits = [1.0_f32, 4.0, 2.0, 3.0].map(f32::ln);
        for (at, expected) in [
            (0.0, 0),
            (0.09, 0),
            (0.11, 1),
            (0.49, 1),
            (0.51, 2),
            (0.71, 3),
            (0.999, 3),
        ] {
            assert_eq!(drawn(&logits, at), TokenId(expected), "{at}");
        }
        assert_eq!(drawn(&[f32::NEG_INFINITY, 0.0], 1.0), TokenId(1));
    }
}
