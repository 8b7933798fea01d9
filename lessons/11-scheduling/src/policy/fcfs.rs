use super::Policy;
use crate::meta::Candidate;
use std::cmp::Ordering;
use std::time::Duration;

/// First come, first served. No request starves, as only finitely many are before it. One long request holds up all
/// short ones behind it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fcfs;

impl Policy for Fcfs {
    fn name(&self) -> &'static str {
        "first come, first served"
    }

    fn compare(&self, _now: Duration, a: &Candidate, b: &Candidate) -> Ordering {
        a.id.cmp(&b.id)
    }
}
