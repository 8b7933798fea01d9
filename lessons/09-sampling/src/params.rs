//! How the tokens of one request are to be chosen.

use crate::error::SamplingError;
use std::ops::Deref;
use training::TokenId;

/// Smallest temperature that is drawn at. Below it only the likeliest token is ever drawn, and those that are as likely, so 0 says it better.
pub const LEAST_TEMPERATURE: f32 = 1e-3;
/// Largest temperature: all tokens are as good as equally likely.
pub const MOST_TEMPERATURE: f32 = 100.0;
/// Most candidates that come with a token.
pub const MOST_LOGPROBS: usize = 20;
/// Most texts that end an answer.
pub const MOST_STOPS: usize = 16;

// ANCHOR: params
/// What a request may ask for. [`SamplingParams::default`] draws from the model's own distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingParams {
    /// Logits are divided by it. 0: always the likeliest token.
    pub temperature: f32,
    /// Only so many of the likeliest tokens may be drawn. 0: all.
    pub top_k: usize,
    /// Only the likeliest tokens that together have this share. 1: all.
    pub top_p: f32,
    /// Only tokens that are at least this share as likely as the likeliest. 0: all.
    pub min_p: f32,
    /// A token of prompt or output is this many times less likely, in logits: they are divided where positive, multiplied where negative.
    pub repetition_penalty: f32,
    /// Taken from the logit of each token that the output contains.
    pub presence_penalty: f32,
    /// Taken from it once for each time that the output contains the token.
    pub frequency_penalty: f32,
    /// Added to the logits of some tokens; -inf forbids a token.
    pub logit_bias: Vec<(TokenId, f32)>,
    /// What makes the draws. The same seed gives the same answer, whoever else is being answered.
    pub seed: u64,
    /// Number of the answer, where one prompt gets several.
    pub answer: u32,
    /// How many of the likeliest tokens to report beside the drawn one, with the model's own log probabilities.
    pub logprobs: Option<usize>,
    /// Tokens that end the answer, besides those of the model.
    pub stop_ids: Vec<TokenId>,
    /// Texts that end the answer and are no part of it.
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

/// Parameters that were checked against a vocabulary: only these can be drawn with, so that a bad wish is refused before anything is computed.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedParams(SamplingParams);

impl Deref for CheckedParams {
    type Target = SamplingParams;

    fn deref(&self) -> &SamplingParams {
        &self.0
    }
}

impl SamplingParams {
    /// Always the likeliest token.
    pub fn greedy() -> SamplingParams {
        SamplingParams {
            temperature: 0.0,
            ..SamplingParams::default()
        }
    }

    /// Whether any penalty changes a logit.
    pub fn penalizes(&self) -> bool {
        self.repetition_penalty != 1.0 || self.presence_penalty != 0.0 || self.frequency_penalty != 0.0
    }

    /// Whether the model's logits are changed before anything is chosen: by a bias or a penalty.
    pub fn changes_logits(&self) -> bool {
        self.penalizes() || !self.logit_bias.is_empty()
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// The first that is out of its range. A comparison with NaN is false, so each check says what is allowed, not what is forbidden.
    pub fn check(self, vocab_size: usize) -> Result<CheckedParams, SamplingError> {
        let drawn = (LEAST_TEMPERATURE..=MOST_TEMPERATURE).contains(&self.temperature);
        if !(drawn || self.temperature == 0.0) {
            return Err(SamplingError::Temperature {
                found: self.temperature,
                least: LEAST_TEMPERATURE,
                most: MOST_TEMPERATURE,
            });
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return Err(SamplingError::TopP { found: self.top_p });
        }
        if !(0.0..=1.0).contains(&self.min_p) {
            return Err(SamplingError::MinP { found: self.min_p });
        }
        self.check_penalties()?;
        self.check_tokens(vocab_size)?;
        self.check_stops()?;
        match self.logprobs {
            Some(found) if found > MOST_LOGPROBS => Err(SamplingError::Logprobs {
                found,
                most: MOST_LOGPROBS,
            }),
            _ => Ok(CheckedParams(self)),
        }
    }

    fn check_penalties(&self) -> Result<(), SamplingError> {
        if !(0.01..=100.0).contains(&self.repetition_penalty) {
            return Err(SamplingError::RepetitionPenalty {
                found: self.repetition_penalty,
            });
        }
        for (name, found) in [
            ("presence_penalty", self.presence_penalty),
            ("frequency_penalty", self.frequency_penalty),
        ] {
            if !(-2.0..=2.0).contains(&found) {
                return Err(SamplingError::Penalty { name, found });
            }
        }
        Ok(())
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
        let allowed = |bias: f32| bias == f32::NEG_INFINITY || (-100.0..=100.0).contains(&bias);
        match self.logit_bias.iter().find(|(_, bias)| !allowed(*bias)) {
            Some(&(token, found)) => Err(SamplingError::Bias { token, found }),
            None => Ok(()),
        }
    }

    fn check_stops(&self) -> Result<(), SamplingError> {
        if self.stop.len() > MOST_STOPS {
            return Err(SamplingError::TooManyStops {
                found: self.stop.len(),
                most: MOST_STOPS,
            });
        }
        match self.stop.iter().position(String::is_empty) {
            Some(index) => Err(SamplingError::EmptyStop { index }),
            None => Ok(()),
        }
    }
}
