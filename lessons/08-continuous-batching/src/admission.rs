//! Who joins.

use crate::memory::{Admission, Memory};
use crate::queues::Queues;
use crate::request::Status;

/// Lets waiting requests join the running ones: the oldest first, while fewer than `max_running` run and memory admits them. The first that
/// finds no room ends it, so nobody overtakes. Who joins goes behind those who run already, and is [`Status::Prefilling`].
///
/// Called before every pass, so a place that became free in one step is taken in the next. Returns how many joined.
pub fn admit<M: Memory>(queues: &mut Queues, memory: &mut M, max_running: usize) -> usize {
    // ANCHOR: ex_08_2
    let before = queues.running.len();
    while queues.running.len() < max_running
        && let Some(oldest) = queues.waiting.front_mut()
        && memory.admit(oldest) == Admission::Admitted
    {
        queues.running.extend(queues.waiting.pop_front());
        if let Some(request) = queues.running.last_mut() {
            request.status = Status::Prefilling;
        }
    }
    queues.running.len() - before
    // ANCHOR_END: ex_08_2
}
