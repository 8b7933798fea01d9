//! Refusals of sampling parameters.

use training::TokenId;

/// A sampling parameter that is refused. The message names the parameter, what is allowed and what was found, so a
/// server can return it to its client.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SamplingError {
    /// A number outside of its range, or NaN.
    #[error("{name}: expected {expected}, found {found}")]
    OutOfRange {
        /// Name of the parameter.
        name: &'static str,
        /// The allowed range, in words.
        expected: &'static str,
        /// The number in the request.
        found: f32,
    },
    /// A logit bias outside of its range, or NaN.
    #[error(
        "logit_bias of token {}: expected a number from -100 to 100, or -inf to forbid the token, found {found}",
        .token.0
    )]
    Bias {
        /// The token that the bias is for.
        token: TokenId,
        /// The bias in the request.
        found: f32,
    },
    /// A bias or a stop for a token that the model does not have.
    #[error("{name}: expected token ids below {vocab_size}, the model's vocabulary, found {}", .token.0)]
    UnknownToken {
        /// `logit_bias` or `stop_ids`.
        name: &'static str,
        /// The unknown token.
        token: TokenId,
        /// Number of tokens of the model's vocabulary.
        vocab_size: usize,
    },
    /// More log probabilities per token than the limit.
    #[error("logprobs: expected at most {most}, found {found}")]
    TooManyLogprobs {
        /// The number in the request.
        found: usize,
        /// Largest number that is allowed.
        most: usize,
    },
    /// More stop texts than the limit.
    #[error("stop: expected at most {most} texts, found {found}")]
    TooManyStops {
        /// Number of texts in the request.
        found: usize,
        /// Largest number that is allowed.
        most: usize,
    },
    /// An empty stop text, which every text contains.
    #[error("stop: expected texts of at least one character, found an empty one at index {index}")]
    EmptyStop {
        /// Index of the empty text in the request.
        index: usize,
    },
}
