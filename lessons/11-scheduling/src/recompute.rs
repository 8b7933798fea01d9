//! Giving memory back, and losing nothing.

use crate::entry::Entry;
use crate::limits::Preemption;
use crate::memory::GivesBack;
use crate::stats::ScheduleStats;
use continuous_batching::request::Status;

/// Takes a running request's memory and makes it a waiting one.
///
/// *Swap*: its keys and values go to the host pool, and `entry.stored` says how many tokens that are. Where the pool has no room, and with
/// *recompute*, they are forgotten: its prompt *and what it has answered so far* will be computed again when it is admitted, as one longer prompt, and then it
/// goes on where it was. Either way its memory is given back exactly once.
///
/// No token of the answer is lost or told twice. Prompt and output stay as they are and apart, for penalties look at them and the client has them; so do the
/// number of tokens asked for and the time of arrival. On the device nothing is computed any more (`num_computed`), until memory says at the next admission
/// what it has.
///
/// Counted in `stats`: each time (`preemptions`), those that went to the pool (`swapped`), and for those that were forgotten the tokens that had been computed
/// (`recomputed_tokens`). `entry.preemptions` counts for this request.
///
/// Cost: now, nothing or a copy; later, the rows of the whole text once more, or a copy.
pub fn send_back(entry: &mut Entry, preemption: Preemption, memory: &mut dyn GivesBack, stats: &mut ScheduleStats) {
    // ANCHOR: ex_11_4
    let id = entry.id();
    entry.stored = match preemption {
        Preemption::Swap => memory.swap_out(id),
        Preemption::Recompute => 0,
    };
    if entry.is_swapped() {
        stats.swapped += 1;
    } else {
        memory.forget(id);
        stats.recomputed_tokens += entry.request.num_computed as u64;
    }
    entry.request.num_computed = 0;
    entry.request.status = Status::Waiting;
    entry.preemptions += 1;
    stats.preemptions += 1;
    // ANCHOR_END: ex_11_4
}
