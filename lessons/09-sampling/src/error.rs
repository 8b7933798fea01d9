//! What can be wrong with a wish for how tokens are chosen.

use training::TokenId;

/// A parameter that means nothing. Each message names the parameter, what was found and what is allowed, as a client would like to read it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SamplingError {
    /// Not a number, negative, infinite, or so small that dividing by it says nothing.
    #[error("temperature: expected 0 (always the likeliest token) or a number from {least} to {most}, found {found}")]
    Temperature {
        /// What was asked for.
        found: f32,
        /// Smallest temperature that is drawn at.
        least: f32,
        /// Largest one.
        most: f32,
    },
    /// A share of nothing, or of more than all.
    #[error("top_p: expected a number above 0 and at most 1 (1 keeps all tokens), found {found}")]
    TopP {
        /// What was asked for.
        found: f32,
    },
    /// A share of the likeliest token's probability.
    #[error("min_p: expected a number from 0 (keeps all tokens) to 1, found {found}")]
    MinP {
        /// What was asked for.
        found: f32,
    },
    /// A factor that is no factor.
    #[error("repetition_penalty: expected a number from 0.01 to 100 (1 changes nothing), found {found}")]
    RepetitionPenalty {
        /// What was asked for.
        found: f32,
    },
    /// A summand beyond what makes sense for logits.
    #[error("{name}: expected a number from -2 to 2 (0 changes nothing), found {found}")]
    Penalty {
        /// `presence_penalty` or `frequency_penalty`.
        name: &'static str,
        /// What was asked for.
        found: f32,
    },
    /// A bias that is not a number or too large.
    #[error("logit_bias of token {}: expected a number from -100 to 100, or -inf to forbid the token, found {found}", .token.0)]
    Bias {
        /// The token.
        token: TokenId,
        /// What was asked for.
        found: f32,
    },
    /// A bias or a stop for a token that does not exist.
    #[error("{name}: expected token ids below {vocab_size}, the model's vocabulary, found {}", .token.0)]
    UnknownToken {
        /// `logit_bias` or `stop_ids`.
        name: &'static str,
        /// The token.
        token: TokenId,
        /// The model's vocabulary.
        vocab_size: usize,
    },
    /// More candidates than are worth sending.
    #[error("logprobs: expected at most {most}, found {found}")]
    Logprobs {
        /// What was asked for.
        found: usize,
        /// Most that are given.
        most: usize,
    },
    /// Too many texts that end an answer.
    #[error("stop: expected at most {most} texts, found {found}")]
    TooManyStops {
        /// How many were given.
        found: usize,
        /// Most that are looked for.
        most: usize,
    },
    /// A text of no characters stands everywhere.
    #[error("stop: expected texts of at least one character, found an empty one at index {index}")]
    EmptyStop {
        /// Which one.
        index: usize,
    },
}
