//! Preemption: memory is taken back, and no token is lost.

use crate::limits::Preemption;
use crate::meta::Meta;
use crate::stats::ScheduleStats;
use crate::swap_space::Reclaim;
use continuous_batching::request::{Request, Status};

/// Takes the memory of a running request back and makes it a waiting one.
///
/// *Swap*: its keys and values go to the host pool. Where the pool has no room, and with *recompute*, they are dropped:
/// prompt *and output so far* are computed again when the request is admitted, as one longer prompt, and then it goes
/// on where it was. Either way its memory is freed exactly once.
///
/// No token of the answer is lost or reported twice. Prompt and output stay as they are and apart, as penalties treat
/// them differently and the client has the output already; the number of tokens asked for and the time of arrival stay
/// too. `num_computed` becomes 0: memory sets it again at the next admission.
///
/// Counted in `stats`: every preemption (`preemptions`), those that went to the pool (`swapped`), and for those that
/// were dropped the tokens that had been computed (`recomputed_tokens`). [`Meta::num_preemptions`] counts for this
/// request.
///
/// Cost: now, nothing or a copy; later, the rows of the whole text once more, or a copy.
pub fn preempt<X: AsMut<Meta>>(
    request: &mut Request<X>,
    preemption: Preemption,
    memory: &mut dyn Reclaim,
    stats: &mut ScheduleStats,
) {
    // ANCHOR: ex_11_4
    let num_stored = match preemption {
        Preemption::Swap => memory.swap_out(request.id),
        Preemption::Recompute => 0,
    };
    // `swap_out` frees the blocks itself when it stores the tokens.
    if num_stored > 0 {
        stats.swapped += 1;
    } else {
        memory.drop_blocks(request.id);
        stats.recomputed_tokens += request.num_computed as u64;
    }
    request.num_computed = 0;
    request.status = Status::Waiting;
    request.attached.as_mut().num_preemptions += 1;
    stats.preemptions += 1;
    // ANCHOR_END: ex_11_4
}
