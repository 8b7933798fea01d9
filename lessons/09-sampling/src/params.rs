//! The parameters that a request chooses its tokens with.

use crate::error::SamplingError;
use std::ops::Deref;
use training::TokenId;

/// Smallest temperature above 0. Below it only the likeliest token and its equals would be drawn, which is what a
/// temperature of 0 says.
pub const LEAST_TEMPERATURE: f32 = 1e-3;
/// Largest temperature: at it all tokens are nearly equally likely.
pub const MOST_TEMPERATURE: f32 = 100.0;
/// Largest number of log probabilities that are reported beside a token.
pub const MOST_LOGPROBS: usize = 20;
/// Largest number of stop texts of a request.
pub const MOST_STOPS: usize = 16;

// ANCHOR: params
/// Sampling parameters of a request. [`SamplingParams::default`] draws from the model's own distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingParams {
    /// Divisor of the logits. 0: the likeliest token is taken.
    pub temperature: f32,
    /// Number of likeliest tokens that may be drawn. 0: all.
    pub top_k: usize,
    /// Share that the likeliest tokens must have together; the others can not be drawn. 1: all tokens stay.
    pub top_p: f32,
    /// Smallest probability that may be drawn, as a share of the likeliest token's. 0: all tokens stay.
    pub min_p: f32,
    /// Factor for the logits of tokens of prompt and output: positive logits are divided by it, negative ones
    /// multiplied.
    pub repetition_penalty: f32,
    /// Subtracted from the logit of each token that the output contains.
    pub presence_penalty: f32,
    /// Subtracted from a token's logit once for each time that the output contains the token.
    pub frequency_penalty: f32,
    /// Added to the logits of some tokens; -inf forbids a token.
    pub logit_bias: Vec<(TokenId, f32)>,
    /// Seed of the draws. The same seed gives the same answer in every batch.
    pub seed: u64,
    /// Number of the answer, where one prompt gets several.
    pub answer: u32,
    /// Number of likeliest tokens whose log probabilities are reported beside the chosen one's. None: nothing is
    /// reported.
    pub logprobs: Option<usize>,
    /// Tokens that end the answer, besides those of the model.
    pub stop_ids: Vec<TokenId>,
    /// Texts that end the answer and are not part of it.
    pub stop: Vec<String>,
}
// ANCHOR_END: params

impl Default for SamplingParams {
    fn default() -> SamplingParams {
        SamplingParams {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            logit_bias: Vec::new(),
            seed: 0,
            answer: 0,
            logprobs: None,
            stop_ids: Vec::new(),
            stop: Vec::new(),
        }
    }
}

/// Parameters that passed [`SamplingParams::check`]. The sampler accepts no others, so a bad request is refused before
/// anything is computed for it.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedParams(SamplingParams);

impl Deref for CheckedParams {
    type Target = SamplingParams;

    fn deref(&self) -> &SamplingParams {
        &self.0
    }
}

impl SamplingParams {
    /// Parameters that always take the likeliest token.
    pub fn greedy() -> SamplingParams {
        SamplingParams::default().with(|p| p.temperature = 0.0)
    }

    /// The parameters after a change: `SamplingParams::default().with(|p| p.top_p = 0.9)`.
    pub fn with(mut self, change: impl FnOnce(&mut SamplingParams)) -> SamplingParams {
        change(&mut self);
        self
    }

    /// Whether any penalty changes a logit.
    pub fn penalizes(&self) -> bool {
        self.repetition_penalty != 1.0 || self.presence_penalty != 0.0 || self.frequency_penalty != 0.0
    }

    /// Whether a bias or a penalty changes the model's logits before a token is chosen.
    pub fn changes_logits(&self) -> bool {
        self.penalizes() || !self.logit_bias.is_empty()
    }

    /// Checks every parameter against its range and the model's vocabulary.
    ///
    /// # Errors
    /// The first parameter that is refused.
    pub fn check(self, vocab_size: usize) -> Result<CheckedParams, SamplingError> {
        self.check_numbers()?;
        self.check_tokens(vocab_size)?;
        if let Some(found) = self.logprobs.filter(|found| *found > MOST_LOGPROBS) {
            let most = MOST_LOGPROBS;
            return Err(SamplingError::TooManyLogprobs { found, most });
        }
        if self.stop.len() > MOST_STOPS {
            let (found, most) = (self.stop.len(), MOST_STOPS);
            return Err(SamplingError::TooManyStops { found, most });
        }
        match self.stop.iter().position(String::is_empty) {
            Some(index) => Err(SamplingError::EmptyStop { index }),
            None => Ok(CheckedParams(self)),
        }
    }

    fn check_numbers(&self) -> Result<(), SamplingError> {
        let is_temperature = |t: f32| t == 0.0 || (LEAST_TEMPERATURE..=MOST_TEMPERATURE).contains(&t);
        // Every comparison with NaN is false, so each condition says what is allowed and not what is forbidden.
        let checks = [
            (
                "temperature",
                self.temperature,
                is_temperature(self.temperature),
                "0 (always the likeliest token) or a number from 0.001 to 100",
            ),
            (
                "top_p",
                self.top_p,
                self.top_p > 0.0 && self.top_p <= 1.0,
                "a number above 0 and at most 1 (1 keeps all tokens)",
            ),
            (
                "min_p",
                self.min_p,
                (0.0..=1.0).contains(&self.min_p),
                "a number from 0 (keeps all tokens) to 1",
            ),
            (
                "repetition_penalty",
                self.repetition_penalty,
                (0.01..=100.0).contains(&self.repetition_penalty),
                "a number from 0.01 to 100 (1 changes nothing)",
            ),
            (
                "presence_penalty",
                self.presence_penalty,
                (-2.0..=2.0).contains(&self.presence_penalty),
                "a number from -2 to 2 (0 changes nothing)",
            ),
            (
                "frequency_penalty",
                self.frequency_penalty,
                (-2.0..=2.0).contains(&self.frequency_penalty),
                "a number from -2 to 2 (0 changes nothing)",
            ),
        ];
        match checks.into_iter().find(|(_, _, is_allowed, _)| !is_allowed) {
            Some((name, found, _, expected)) => Err(SamplingError::OutOfRange { name, expected, found }),
            None => Ok(()),
        }
    }

    fn check_tokens(&self, vocab_size: usize) -> Result<(), SamplingError> {
        let biased = (self.logit_bias.iter()).map(|(token, _)| ("logit_bias", *token));
        let stops = self.stop_ids.iter().map(|token| ("stop_ids", *token));
        if let Some((name, token)) = biased.chain(stops).find(|(_, t)| t.index() >= vocab_size) {
            return Err(SamplingError::UnknownToken {
                name,
                token,
                vocab_size,
            });
        }
        let is_allowed = |bias: f32| bias == f32::NEG_INFINITY || (-100.0..=100.0).contains(&bias);
        match self.logit_bias.iter().find(|(_, bias)| !is_allowed(*bias)) {
            Some(&(token, found)) => Err(SamplingError::Bias { token, found }),
            None => Ok(()),
        }
    }
}
