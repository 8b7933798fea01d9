//! Which request sat in which slot, step by step: for timelines and for tests.

use crate::engine::Engine;
use crate::error::EngineError;
use crate::event::{Delivery, Event};
use crate::memory::Memory;
use crate::request::{FinishReason, SeqId, Status};
use crate::runner::Runner;
use crate::schedule::Schedule;
use crate::slots::SlotId;
use serde::{Deserialize, Serialize};

// ANCHOR: trace
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
    /// The first piece of its memory: with slots, its slot.
    pub slot: SlotId,
    /// [`Status::Prefilling`] in the step that computes the prompt, [`Status::Decoding`] in those after it.
    pub status: Status,
    /// Position of its first row.
    pub first_position: usize,
    /// Number of its rows.
    pub rows: usize,
}
// ANCHOR_END: trace

/// Takes steps of an engine and keeps what they did. Steps that computed nothing and reported nothing are left out.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// The steps so far.
    pub steps: Vec<StepTrace>,
    /// Requests that ran at the end of the last step.
    running: Vec<SeqId>,
}

impl Recorder {
    /// One step of the engine.
    ///
    /// # Errors
    /// Those of [`Engine::step`].
    pub fn step<R: Runner, M: Memory<X>, S: Schedule<M, X>, X>(
        &mut self,
        engine: &mut Engine<R, M, S, X>,
        on_event: &mut dyn FnMut(Event<'_>) -> Delivery,
    ) -> Result<(), EngineError> {
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
        for (index, sequence) in engine.batch.sequences.iter().enumerate() {
            let joined = !self.running.contains(&sequence.id);
            if joined {
                trace.joined.push(sequence.id);
            }
            trace.computed.push(Seat {
                id: sequence.id,
                slot: SlotId(engine.batch.table(index)[0] as usize),
                status: match joined {
                    true => Status::Prefilling,
                    false => Status::Decoding,
                },
                first_position: engine.batch.positions[sequence.first_row],
                rows: sequence.num_rows,
            });
        }
        trace.waiting = engine.queues.waiting.iter().map(|request| request.id).collect();
        self.running.clear();
        self.running
            .extend(engine.queues.running.iter().map(|request| request.id));
        if !trace.computed.is_empty() || !trace.finished.is_empty() {
            self.steps.push(trace);
        }
        Ok(())
    }
}

/// The steps as lines of text: a line for a step, a column for a slot. `P` computes a prompt, `D` decodes, with the request's number; `·` is empty.
pub fn picture(steps: &[StepTrace], num_slots: usize) -> String {
    let mut text = String::new();
    for step in steps {
        text += &format!("{:>4} ", step.step);
        for slot in 0..num_slots {
            let seat = step.computed.iter().find(|seat| seat.slot == SlotId(slot));
            let sign = match seat {
                Some(seat) if seat.status == Status::Prefilling => format!("P{}", seat.id),
                Some(seat) => format!("D{}", seat.id),
                None => "·".to_owned(),
            };
            text += &format!(" {sign:<4}");
        }
        let waiting: Vec<String> = step.waiting.iter().map(SeqId::to_string).collect();
        let finished = step.finished.iter().map(|(id, reason)| format!("{id} {reason:?}"));
        let finished: Vec<String> = finished.collect();
        let line = format!("  waiting [{}]  finished [{}]", waiting.join(" "), finished.join(", "));
        text += &(line + "\n");
    }
    text
}
