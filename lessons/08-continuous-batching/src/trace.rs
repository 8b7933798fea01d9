//! Who sat where, step by step: for timelines and for looking for faults.

use crate::batch::Batch;
use crate::memory::Memory;
use crate::queues::Queues;
use crate::request::{FinishReason, SeqId, Status};
use crate::slots::SlotId;
use serde::{Deserialize, Serialize};

// ANCHOR: trace
/// One step. Nothing is kept of a step in which nothing happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTrace {
    /// The step's number, from 0; steps without a batch count too.
    pub step: u64,
    /// Who joined, in order.
    pub joined: Vec<SeqId>,
    /// What was computed, in the order of the batch.
    pub computed: Vec<Seat>,
    /// Who still waited, oldest first.
    pub waiting: Vec<SeqId>,
    /// Whose end was announced, and why.
    pub finished: Vec<(SeqId, FinishReason)>,
}

/// A sequence in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// Whose.
    pub id: SeqId,
    /// Where it sits; nothing where memory has no slots.
    pub slot: Option<SlotId>,
    /// [`Status::Prefilling`] in the step that computes the prompt, [`Status::Decoding`] in those after it.
    pub status: Status,
    /// Position of its first row.
    pub first_position: usize,
    /// Its rows.
    pub rows: usize,
}
// ANCHOR_END: trace

impl StepTrace {
    /// What a scheduled step is about to compute.
    pub(crate) fn scheduled<M: Memory>(
        step: u64,
        joined: usize,
        queues: &Queues,
        batch: &Batch,
        memory: &M,
    ) -> StepTrace {
        let ids = queues.running.iter().map(|request| request.id);
        StepTrace {
            step,
            joined: ids.skip(queues.running.len() - joined).collect(),
            computed: (queues.running.iter().zip(&batch.sequences))
                .map(|(request, sequence)| Seat {
                    id: request.id,
                    slot: memory.slot_of(request.id),
                    status: request.status,
                    first_position: batch.positions[sequence.first_row],
                    rows: sequence.num_rows,
                })
                .collect(),
            waiting: queues.waiting.iter().map(|request| request.id).collect(),
            finished: Vec::new(),
        }
    }

    /// Whether nothing happened.
    pub(crate) fn is_empty(&self) -> bool {
        self.computed.is_empty() && self.finished.is_empty()
    }
}

/// The steps as a picture of letters: a line a step, a column a slot. `P` computes a prompt, `D` decodes, with the request's number; `·` is empty.
pub fn picture(steps: &[StepTrace], num_slots: usize) -> String {
    let mut text = String::new();
    for step in steps {
        text += &format!("{:>4} ", step.step);
        for slot in 0..num_slots {
            let seat = step.computed.iter().find(|seat| seat.slot == Some(SlotId(slot)));
            let sign = match seat {
                Some(seat) if seat.status == Status::Prefilling => format!("P{}", seat.id),
                Some(seat) => format!("D{}", seat.id),
                None => "·".to_owned(),
            };
            text += &format!(" {sign:<4}");
        }
        let waiting: Vec<String> = step.waiting.iter().map(SeqId::to_string).collect();
        let finished: Vec<String> = (step.finished.iter())
            .map(|(id, reason)| format!("{id} {reason:?}"))
            .collect();
        let line = format!("  waiting [{}]  finished [{}]", waiting.join(" "), finished.join(", "));
        text += &(line + "\n");
    }
    text
}
