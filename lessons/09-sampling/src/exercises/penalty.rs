//! Penalties on the logits of tokens that the text already contains.

use crate::params::SamplingParams;

/// Where a token occurs in the text of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whether the prompt contains the token.
    pub in_prompt: bool,
    /// Number of times that the output contains the token.
    pub in_output: u32,
}

/// A token's logit after the three penalties.
///
/// - *repetition*: a factor for the tokens of prompt and output. A positive logit is divided by it. A negative logit is
///   multiplied, because a division would bring it nearer to zero and make the token likelier.
/// - *presence*: subtracted once if the output contains the token.
/// - *frequency*: subtracted once for each time that the output contains the token.
///
/// Sources: for repetition CTRL, Keskar et al. 2019, arXiv:1909.05858, section 4.1, which has positive scores only; for
/// the other two the OpenAI API reference.
pub fn penalize(logit: f32, seen: Seen, params: &SamplingParams) -> f32 {
    // ANCHOR: ex_09_5
    let mut logit = logit;
    if seen.in_prompt || seen.in_output > 0 {
        //~ fault 09.5
        //~ | logit /= params.repetition_penalty;
        if logit > 0.0 {
            logit /= params.repetition_penalty;
        } else {
            logit *= params.repetition_penalty;
        }
        //~ end
    }
    if seen.in_output > 0 {
        logit -= params.presence_penalty + params.frequency_penalty * seen.in_output as f32;
    }
    logit
    // ANCHOR_END: ex_09_5
}
