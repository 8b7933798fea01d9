use super::Policy;
use crate::meta::Candidate;
use std::cmp::Ordering;
use std::time::Duration;

/// The tenant that was given the fewest rows goes first, so that a tenant with a thousand requests gets no more than
/// one with ten, while both have any waiting. Rows count when they are scheduled, prompts and answers alike. One that
/// was away brings no credit: see [`crate::quota::Quota::welcome`].
///
/// Source: Sheng et al. 2024, "Fairness in serving large language models", arXiv:2401.00588.
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
