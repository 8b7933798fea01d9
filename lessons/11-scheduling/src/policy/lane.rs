use super::Policy;
use crate::meta::{Candidate, Class};
use std::cmp::Ordering;
use std::time::Duration;

/// A lane for the less urgent: requests from class `from` on go behind all others, and each of these classes runs at
/// most `places` requests at a time.
///
/// The other places stay free for the urgent classes, also while no urgent request waits. That is the price: a place
/// may stand empty beside a queue.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// The most urgent class of the lane.
    pub from: Class,
    /// Number of places of each class of the lane, at least one.
    pub places: usize,
}

impl Policy for Lane {
    fn name(&self) -> &'static str {
        "a lane for the less urgent"
    }

    fn compare(&self, _now: Duration, a: &Candidate, b: &Candidate) -> Ordering {
        a.class.cmp(&b.class)
    }

    fn may_join(&self, candidate: &Candidate) -> bool {
        candidate.class < self.from || candidate.class_running < self.places
    }
}
