//! Which waiting requests join.

use crate::memory::{Admission, Memory};
use crate::queues::Queues;
use crate::request::Status;

/// Moves waiting requests to the running ones, the oldest first, while fewer than `max_running` run and memory admits
/// them. The first request that finds no room ends the loop, so no request overtakes another. A request that joins goes
/// to the end of the running queue and becomes [`Status::Prefilling`].
///
/// Called before every pass, so a place that became free in one step is taken in the next. Returns the number of
/// requests that joined.
pub fn admit<M: Memory<X>, X>(queues: &mut Queues<X>, memory: &mut M, max_running: usize) -> usize {
    // ANCHOR: ex_08_2
    let before = queues.running.len();
    while queues.running.len() < max_running
        && let Some(oldest) = queues.waiting.front_mut()
        // Memory comes last: it reserves, and nothing after it may say no.
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
