use super::Policy;
use crate::entry::Candidate;
use std::cmp::Ordering;
use std::time::Duration;

/// The tenant that was served the least goes first, so that a tenant with a thousand requests gets no more than one with ten, while both have any waiting.
#[derive(Clone, Copy, Debug, Default)]
pub struct FairQuota;

impl Policy for FairQuota {
    fn name(&self) -> &'static str {
        "fair quota"
    }

    fn compare(&self, _now: Duration, a: &Candidate, b: &Candidate) -> Ordering {
        a.served_tokens.cmp(&b.served_tokens)
    }
}
