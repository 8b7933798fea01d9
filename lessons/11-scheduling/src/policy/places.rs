use super::Policy;
use crate::meta::Candidate;
use std::cmp::Ordering;
use std::time::Duration;

/// Priority with a quota: a class of which fewer than `places` requests run goes before all that have theirs; otherwise
/// the most urgent one goes first.
///
/// So every class that waits gets a place as soon as one is free and keeps that many in use: it is slowed down and
/// never shut out. There have to be more places in all than the quotas of the less urgent classes take, or nothing is
/// left for the urgent one.
#[derive(Clone, Copy, Debug)]
pub struct PlacesPerClass {
    /// Places that a class is never without while it waits.
    pub places: usize,
}

impl Policy for PlacesPerClass {
    fn name(&self) -> &'static str {
        "priority with a quota"
    }

    fn compare(&self, _now: Duration, a: &Candidate, b: &Candidate) -> Ordering {
        let has_its_own = |c: &Candidate| c.class_running >= self.places;
        (has_its_own(a).cmp(&has_its_own(b))).then(a.class.cmp(&b.class))
    }
}
