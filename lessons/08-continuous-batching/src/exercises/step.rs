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
/// 3. *Choose*: one token from each row, kept in `engine.next`. If a choice fails, its error is kept there.
/// 4. *Publish*: the rows of the pass count as computed. Requests that were cancelled while the model computed get no
///    token. A failed choice ends its own request with [`FinishReason::ChoiceFailed`]. Every other request accepts its
///    token, and a token that belongs to the output is an [`Event::Token`], in the order of the batch. A receiver that
///    is gone ends its own request. Then finished requests leave, and all ends are reported.
///
/// An empty batch is computed and published like any other: there may be ends to report.
///
/// # Errors
/// The error of the runner. Nothing is published then.
pub fn step<R: Runner, M: Memory<X>, S: Schedule<M, X>, X>(
    engine: &mut Engine<R, M, S, X>,
    on_event: &mut dyn FnMut(Event<'_>) -> Delivery,
) -> Result<(), EngineError> {
    // ANCHOR: ex_08_4
    engine.schedule();

    let logits = engine.runner.forward(&engine.batch)?;

    // All tokens are chosen before the first one is published, so that a cancel that arrives meanwhile still takes
    // effect.
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

    // Before publishing: a request that was cancelled while the model computed must not get its token.
    engine.take_cancellations();
    // The rows of a cancelled request count as well: they are in memory until it leaves.
    engine.note_computed();
    // One choice for each sequence that samples, in the same order. No request has left the queue since scheduling, so
    // a second walk finds each of them.
    let mut running = engine.queues.running.iter_mut();
    for (sequence, choice) in engine.batch.sampling().zip(engine.next.drain(..)) {
        let request = running.find(|request| request.id == sequence.id);
        let request = request.expect("requests leave only between passes");
        // Cancelled while the model computed: its token is dropped.
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
    // Memory is freed before the ends are reported: a client that sees an end can rely on the memory being free.
    engine.leave();
    engine.announce(on_event);
    Ok(())
    // ANCHOR_END: ex_08_4
}
