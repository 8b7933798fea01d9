//! One step: schedule, forward, choose, publish.

use crate::engine::Engine;
use crate::error::EngineError;
use crate::event::{Delivery, Event};
use crate::memory::Memory;
use crate::request::FinishReason;
use crate::runner::Runner;
use crate::schedule::Schedule;

/// Computes one token for each request whose logits the batch asks for, and reports to `on_event` what happened.
///
/// 1. *Schedule*: [`Engine::schedule`] fills the batch. Its sequences stand in the order of the running queue.
/// 2. *Forward*: the runner gives one row of logits for each sequence of [`crate::batch::Batch::sampling`].
/// 3. *Choose*: one token from each row, kept in `engine.next`. A choice may fail; it is kept as well.
/// 4. *Publish*: the rows of the pass count as computed. Requests that were cancelled while the model computed get no token. A failed choice ends
///    its own request with [`FinishReason::ChoiceFailed`]. Every other request accepts its token, and a token that belongs to the output is an
///    [`Event::Token`], in the order of the batch. A receiver that is gone ends its own request. Then finished requests leave, and all ends are
///    reported.
///
/// An empty batch is computed and published like any other: there may be ends to report.
///
/// # Errors
/// What the runner returns. Nothing is published then.
pub fn step<R: Runner, M: Memory<X>, S: Schedule<M, X>, X>(
    engine: &mut Engine<R, M, S, X>,
    on_event: &mut dyn FnMut(Event<'_>) -> Delivery,
) -> Result<(), EngineError> {
    // ANCHOR: ex_08_4
    engine.schedule();

    let logits = engine.runner.forward(&engine.batch)?;

    // All tokens are chosen before the first one is told, so that a cancel that arrives meanwhile still counts.
    engine.next.clear();
    // Sequences stand in the order of the running queue, so one walk over the queue finds the request of each.
    let mut running = engine.queues.running.iter();
    for (sequence, row) in engine
        .batch
        .sampling()
        .zip(logits.chunks_exact_mut(engine.limits.vocab_size))
    {
        let request = running.find(|request| request.id == sequence.id);
        engine
            .next
            .push((engine.choose)(request.expect("a scheduled request runs"), row));
    }

    engine.take_cancellations();
    // The rows of a cancelled request count as well: they are in memory until it leaves.
    engine.note_computed();
    let mut running = engine.queues.running.iter_mut();
    for (sequence, choice) in engine.batch.sampling().zip(engine.next.drain(..)) {
        let request = running.find(|request| request.id == sequence.id);
        let request = request.expect("requests leave only between passes");
        if request.is_finished() {
            continue;
        }
        let Ok(token) = choice else {
            request.finish(FinishReason::ChoiceFailed);
            continue;
        };
        let id = request.id;
        if let Some(token) = request.accept(token, &engine.limits)
            && on_event(Event::Token { id, token }) == Delivery::ReceiverGone
        {
            request.finish(FinishReason::Cancelled);
        }
    }
    // An end is told after the memory is free, so that a client that sees it can rely on it.
    engine.leave();
    engine.announce(on_event);
    Ok(())
    // ANCHOR_END: ex_08_4
}
