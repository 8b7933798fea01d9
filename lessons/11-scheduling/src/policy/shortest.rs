use super::Policy;
use crate::entry::Candidate;
use std::cmp::Ordering;
use std::time::Duration;

/// The one with the least to compute before its next token goes first. The mean time to a first token is the lowest possible, and a long prompt waits as
/// long as short ones keep coming.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShortestPrompt;

impl Policy for ShortestPrompt {
    fn name(&self) -> &'static str {
        "shortest prompt"
    }

    fn compare(&self, _now: Duration, a: &Candidate, b: &Candidate) -> Ordering {
        a.missing_tokens.cmp(&b.missing_tokens)
    }
}
