//! The sampling parameters as flags of a command line.

use anyhow::Context;
use sampling::SamplingParams;
use training::TokenId;

/// The flags. The defaults are those of [`SamplingParams::default`]; `--seed` is a flag of all lessons.
#[derive(clap::Args, Clone, Debug)]
pub struct SamplingFlags {
    /// Divides the logits; 0 takes the likeliest token
    #[arg(long, default_value_t = 1.0, value_name = "T")]
    pub temperature: f32,
    /// Draw from the K likeliest tokens; 0: from all
    #[arg(long, default_value_t = 0, value_name = "K")]
    pub top_k: usize,
    /// Draw from the likeliest tokens that together have the share P
    #[arg(long, default_value_t = 1.0, value_name = "P")]
    pub top_p: f32,
    /// Draw from tokens that are at least P times as likely as the likeliest
    #[arg(long, default_value_t = 0.0, value_name = "P")]
    pub min_p: f32,
    /// Makes tokens of prompt and answer less likely by a factor; 1 changes nothing
    #[arg(long, default_value_t = 1.0, value_name = "F")]
    pub repetition_penalty: f32,
    /// Subtracted from the logit of each token that the answer contains
    #[arg(long, default_value_t = 0.0, value_name = "X", allow_negative_numbers = true)]
    pub presence_penalty: f32,
    /// Subtracted once for each time that the answer contains the token
    #[arg(long, default_value_t = 0.0, value_name = "X", allow_negative_numbers = true)]
    pub frequency_penalty: f32,
    /// Adds to a token's logit, as ID=X; -inf forbids it. May be given several times
    #[arg(long = "bias", value_name = "ID=X", value_parser = parse_bias)]
    pub logit_bias: Vec<(u32, f32)>,
    /// A text that ends the answer and is not part of it. May be given several times
    #[arg(long, value_name = "TEXT")]
    pub stop: Vec<String>,
    /// A token that ends the answer. May be given several times
    #[arg(long = "stop-id", value_name = "ID")]
    pub stop_ids: Vec<u32>,
    /// In the --json document: log probabilities of each token and of the N likeliest in its place
    #[arg(long, value_name = "N")]
    pub logprobs: Option<usize>,
    /// Number of answers to the text, written at the same time
    #[arg(long, short = 'n', default_value_t = 1, value_name = "N")]
    pub answers: u32,
}

impl SamplingFlags {
    /// The parameters of answer number 0.
    pub fn params(&self, seed: u64) -> SamplingParams {
        SamplingParams {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            logit_bias: (self.logit_bias.iter())
                .map(|(id, bias)| (TokenId(*id), *bias))
                .collect(),
            seed,
            answer: 0,
            logprobs: self.logprobs,
            stop_ids: self.stop_ids.iter().copied().map(TokenId).collect(),
            stop: self.stop.clone(),
        }
    }
}

fn parse_bias(text: &str) -> Result<(u32, f32), String> {
    let parsed = || -> anyhow::Result<(u32, f32)> {
        let (id, bias) = text.split_once('=').context("no =")?;
        Ok((id.trim().parse()?, bias.trim().parse()?))
    };
    parsed().map_err(|_| "expected a token id and a number with = between them, such as 17=-2.5".into())
}
