//! Who decides, as a part that can be exchanged.

use crate::admission::admit;
use crate::batch::Batch;
use crate::limits::EngineLimits;
use crate::memory::Memory;
use crate::queues::Queues;
use crate::ragged::build_batch;

/// Decides who joins and writes the batch: gets the queues, memory, the limits and last step's batch, and returns how many joined. Whoever
/// runs after it stands in the batch, request `i` of the running queue as sequence `i`, and wants logits.
pub type Scheduler<M> = Box<dyn FnMut(&mut Queues, &mut M, &EngineLimits, &mut Batch) -> usize + Send>;

/// The scheduler of this lesson: [`admit`], then [`build_batch`].
pub fn first_come_first_served<M: Memory>(
    queues: &mut Queues,
    memory: &mut M,
    limits: &EngineLimits,
    batch: &mut Batch,
) -> usize {
    let joined = admit(queues, memory, limits.max_running);
    build_batch(&queues.running, batch);
    joined
}
