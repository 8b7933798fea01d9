//! Which request held which slot, step by step: for timelines, figures and tests.

use continuous_batching::{
    Delivery, Engine, EngineError, Event, FinishReason, Memory, Runner, Schedule, SeqId, SlotId, Status,
};
use serde::{Deserialize, Serialize};

/// What one step did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTrace {
    /// Number of the step, from 0; steps that did nothing count too.
    pub step: u64,
    /// Requests that joined, in order.
    pub joined: Vec<SeqId>,
    /// Sequences that were computed, in the order of the batch.
    pub computed: Vec<Seat>,
    /// Requests that wait after the step, oldest first.
    pub waiting: Vec<SeqId>,
    /// Requests whose end was reported, and why they ended.
    pub finished: Vec<(SeqId, FinishReason)>,
}

/// A sequence in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// Number of the request.
    pub id: SeqId,
    /// Its slot.
    pub slot: SlotId,
    /// [`Status::Prefilling`] in the step that computes the prompt, [`Status::Decoding`] in those after it.
    pub status: Status,
    /// Position of its first row.
    pub first_position: usize,
    /// Number of its rows.
    pub rows: usize,
}

/// Takes one step of an engine whose memory is slots. Returns what it did, unless it computed nothing and reported
/// nothing.
///
/// # Errors
/// Those of [`Engine::step`].
pub fn step<R: Runner, M: Memory<X>, S: Schedule<M, X>, X>(
    engine: &mut Engine<R, M, S, X>,
    on_event: &mut dyn FnMut(Event<'_>) -> Delivery,
) -> Result<Option<StepTrace>, EngineError> {
    let mut trace = StepTrace {
        step: engine.num_steps(),
        ..StepTrace::default()
    };
    engine.step(&mut |event| {
        if let Event::Finished { id, reason, .. } = event {
            trace.finished.push((id, reason));
        }
        on_event(event)
    })?;
    let batch = &engine.batch;
    for (index, sequence) in batch.sequences.iter().enumerate() {
        // The whole prompt is computed in the step in which its request joins.
        let first_position = batch.positions[sequence.first_row];
        let status = match first_position {
            0 => Status::Prefilling,
            _ => Status::Decoding,
        };
        trace.joined.extend((first_position == 0).then_some(sequence.id));
        trace.computed.push(Seat {
            id: sequence.id,
            slot: SlotId(batch.table(index)[0] as usize),
            status,
            first_position,
            rows: sequence.num_rows,
        });
    }
    trace.waiting = engine.queues.waiting.iter().map(|request| request.id).collect();
    Ok((!trace.computed.is_empty() || !trace.finished.is_empty()).then_some(trace))
}
