//! One step: schedule, forward, choose, publish.

use crate::engine::Engine;
use crate::error::EngineError;
use crate::event::{Delivery, Event};
use crate::memory::Memory;
use crate::request::FinishReason;
use crate::runner::Runner;

/// Computes one token for each running request, and tells `on_event` what happened.
///
/// 1. *Schedule*: [`Engine::schedule`] fills the batch; request `i` of the running queue is sequence `i` of the batch.
/// 2. *Forward*: the runner gives one row of logits for each of them.
/// 3. *Choose*: one token from each row, kept in `engine.next`.
/// 4. *Publish*: requests that were cancelled while the model computed get no token. Each other one accepts its token, and what belongs to the
///    output is an [`Event::Token`], in the order of the batch. A receiver that is gone ends its own request. Then the finished ones leave, and all
///    ends are announced.
///
/// An empty batch is computed and published like any other: there may be ends to announce.
///
/// # Errors
/// What the runner or the choice returns. Nothing is published then.
pub fn step<R: Runner<M>, M: Memory>(
    engine: &mut Engine<R, M>,
    on_event: &mut dyn FnMut(Event<'_>) -> Delivery,
) -> Result<(), EngineError> {
    // ANCHOR: ex_08_4
    engine.schedule();

    let logits = engine.runner.forward(&mut engine.memory, &engine.batch)?;

    engine.next.clear();
    let rows = logits.chunks_exact_mut(engine.limits.vocab_size);
    for (request, logits) in engine.queues.running.iter().zip(rows) {
        let token =
            (engine.choose)(request, logits).map_err(|source| EngineError::Choose { id: request.id, source })?;
        engine.next.push(token);
    }

    engine.take_cancellations();
    for (request, token) in engine.queues.running.iter_mut().zip(&engine.next) {
        if request.is_finished() {
            continue;
        }
        let id = request.id;
        if let Some(token) = request.accept(*token, &engine.limits)
            && on_event(Event::Token { id, token }) == Delivery::ReceiverGone
        {
            request.finish(FinishReason::Cancelled);
        }
    }
    engine.leave();
    engine.announce(on_event);
    Ok(())
    // ANCHOR_END: ex_08_4
}
