//! What a token costs that was there before.

use crate::params::SamplingParams;

/// Where a token was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whether the prompt has it.
    pub in_prompt: bool,
    /// How often the output has it.
    pub in_output: u32,
}

/// A token's logit after the three penalties.
///
/// - *repetition*: a token of prompt or output is made less likely by a factor. A positive logit is divided by it; a negative one is multiplied, for
///   dividing it would bring it nearer to zero and make the token likelier.
/// - *presence*: taken once from a token that the output has.
/// - *frequency*: taken once for each time that the output has it.
///
/// Sources: CTRL, Keskar et al. 2019, arXiv:1909.05858, section 4.1, for repetition (there only for positive scores); the OpenAI API reference for the
/// other two.
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
