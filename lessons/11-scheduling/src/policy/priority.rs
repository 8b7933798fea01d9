use super::Policy;
use crate::exercises::ageing::effective_class;
use crate::meta::{Candidate, Class};
use std::cmp::Ordering;
use std::time::Duration;

/// The most urgent class first, whatever it costs the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Priority;

impl Policy for Priority {
    fn name(&self) -> &'static str {
        "priority"
    }

    fn compare(&self, _now: Duration, a: &Candidate, b: &Candidate) -> Ordering {
        a.class.cmp(&b.class)
    }
}

// ANCHOR: ageing
/// Priority, where waiting makes urgent: one class for each `step`; see [`effective_class`].
///
/// Bound: a request of class c goes before everything that comes later than `c * step` after it.
#[derive(Clone, Copy, Debug)]
pub struct PriorityWithAgeing {
    /// Waiting that is worth one class.
    pub step: Duration,
}

impl Policy for PriorityWithAgeing {
    fn name(&self) -> &'static str {
        "priority with ageing"
    }

    fn compare(&self, now: Duration, a: &Candidate, b: &Candidate) -> Ordering {
        let class = |c: &Candidate| self.class_of(now, c.class, c.arrival);
        class(a).cmp(&class(b))
    }

    /// A request that became urgent by waiting stays urgent. Otherwise it would be preempted for each request that
    /// comes later.
    fn class_of(&self, now: Duration, class: Class, arrival: Duration) -> Class {
        effective_class(class, now.saturating_sub(arrival), self.step)
    }
}
// ANCHOR_END: ageing
