//! Which requests are computed in a step. Later lessons exchange the scheduler, as they do the runner and the memory.

use crate::batch::Batch;
use crate::exercises::admission::admit;
use crate::exercises::ragged::build_batch;
use crate::limits::EngineLimits;
use crate::memory::Memory;
use crate::queues::Queues;

// ANCHOR: schedule
/// Decides, before each pass, which requests run and which of their rows are computed.
pub trait Schedule<M, X = ()> {
    /// Moves requests between the queues, takes memory for every row, and writes the rows into `batch`. Sequences stand
    /// in the order of the running queue; a running request may have none. Tables and copies are added afterwards, by
    /// [`Memory::complete`].
    fn schedule(&mut self, queues: &mut Queues<X>, memory: &mut M, limits: &EngineLimits, batch: &mut Batch);
}

/// First come, first served. An admitted request runs in every step until its end. So memory must refuse a request
/// unless it can hold all tokens that the request may reach.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstCome;

impl<M: Memory<X>, X> Schedule<M, X> for FirstCome {
    fn schedule(&mut self, queues: &mut Queues<X>, memory: &mut M, limits: &EngineLimits, batch: &mut Batch) {
        // New requests join first, so that their prompts are computed in this step.
        admit(queues, memory, limits.max_running);
        for request in &queues.running {
            // The newest token of a decoding request needs a position too.
            let has_room = memory.grow(request.id, request.num_tokens());
            assert!(has_room, "request {} was admitted without room to its end", request.id);
        }
        // Memory is taken for every row now; from here on nothing can run out.
        build_batch(&queues.running, batch);
    }
}
// ANCHOR_END: schedule
