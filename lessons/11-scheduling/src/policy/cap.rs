use super::Policy;
use crate::meta::{Candidate, Class};
use std::cmp::Ordering;
use std::time::Duration;

/// Prompts beyond a length stand behind all others, each group in the order of another policy. Long ones that wait too
/// long count as short.
pub struct LengthCap<P> {
    /// Longest prompt of the first group.
    pub prompt_tokens: usize,
    /// Waiting after which a long prompt is one of the first group.
    pub patience: Duration,
    /// The order within a group.
    pub inner: P,
}

impl<P: Policy> Policy for LengthCap<P> {
    fn name(&self) -> &'static str {
        "length cap"
    }

    fn compare(&self, now: Duration, a: &Candidate, b: &Candidate) -> Ordering {
        let is_behind =
            |c: &Candidate| c.prompt_tokens > self.prompt_tokens && now.saturating_sub(c.arrival) < self.patience;
        (is_behind(a).cmp(&is_behind(b))).then_with(|| self.inner.compare(now, a, b))
    }

    fn may_join(&self, candidate: &Candidate) -> bool {
        self.inner.may_join(candidate)
    }

    /// The cap only orders those that wait: a victim is chosen by the class that the inner policy gives.
    fn class_of(&self, now: Duration, class: Class, arrival: Duration) -> Class {
        self.inner.class_of(now, class, arrival)
    }
}
