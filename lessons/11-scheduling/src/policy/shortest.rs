use super::Policy;
use crate::meta::Candidate;
use std::cmp::Ordering;
use std::time::Duration;

/// The one with the least to compute before its next token goes first. Of requests that are there together and run one
/// after the other, no other order gives a shorter mean time to the first token; a long prompt waits as long as short
/// ones keep coming.
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
