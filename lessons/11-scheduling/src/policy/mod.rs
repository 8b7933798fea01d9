//! The order of joining: small parts that compare two waiting requests by their numbers.
//!
//! A policy says which of two requests goes first at a point in time, and nothing else. It never sees tokens, memory or
//! the batch, so it can be tried on a page of numbers and exchanged without touching the engine. Of two requests that
//! are equal for a policy, the older one goes first.

mod cap;
mod fcfs;
mod lane;
mod places;
mod priority;
mod quota;
mod shortest;

use crate::meta::{Candidate, Class};
use std::cmp::Ordering;
use std::time::Duration;

pub use cap::LengthCap;
pub use fcfs::Fcfs;
pub use lane::Lane;
pub use places::PlacesPerClass;
pub use priority::{Priority, PriorityWithAgeing};
pub use quota::FairQuota;
pub use shortest::ShortestPrompt;

// ANCHOR: policy
/// An order of waiting requests.
pub trait Policy: Send {
    /// Its name in tables and charts.
    fn name(&self) -> &'static str;

    /// Whether `a` goes before `b` (`Less`), behind it, or equals it. At any one `now` it has to be a total order.
    fn compare(&self, now: Duration, a: &Candidate, b: &Candidate) -> Ordering;

    /// Whether a request may join at all while the others of its class run. One that may not is passed over.
    fn may_join(&self, _candidate: &Candidate) -> bool {
        true
    }

    /// The class that a running request counts as where a victim is chosen.
    fn class_of(&self, _now: Duration, class: Class, _arrival: Duration) -> Class {
        class
    }
}
// ANCHOR_END: policy

/// The place of the candidate that goes first; of equal candidates, of the one with the lowest number. `None` if none
/// may join. Cost: one comparison for each candidate.
pub fn first(policy: &dyn Policy, now: Duration, candidates: impl Iterator<Item = Candidate>) -> Option<usize> {
    let before = |a: &Candidate, b: &Candidate| policy.compare(now, a, b).then(a.id.cmp(&b.id));
    let may_join = candidates
        .enumerate()
        .filter(|(_, candidate)| policy.may_join(candidate));
    let best = may_join.min_by(|(_, a), (_, b)| before(a, b));
    best.map(|(place, _)| place)
}
