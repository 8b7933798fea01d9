//! What the scheduler decided, step by step: for figures and for tests.

use crate::meta::{Class, Meta, TenantId};
use crate::schedule::Scheduler;
use crate::swap_space::Reclaim;
use continuous_batching::batch::{Batch, BatchSequence};
use continuous_batching::request::{FinishReason, Request, SeqId};
use continuous_batching::{Delivery, Engine, EngineError, Event, Memory, Runner};
use serde::{Deserialize, Serialize};
use std::time::Duration;

// ANCHOR: trace
/// What was decided in one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTrace {
    /// Number of the step, from 0.
    pub step: u64,
    /// Time of the step.
    pub now: Duration,
    /// Largest number of rows that it may have; `None` where there is no bound.
    pub budget: Option<usize>,
    /// The rows that it has, sequence by sequence, in the order of the batch.
    pub computed: Vec<Share>,
    /// Requests that joined, in the order of the policy.
    pub joined: Vec<SeqId>,
    /// Requests that were preempted, in order.
    pub preempted: Vec<Preempted>,
    /// Requests that wait, oldest first.
    pub waiting: Vec<SeqId>,
    /// Requests whose end was reported, and why they ended; [`step`] adds them.
    pub finished: Vec<(SeqId, FinishReason)>,
}

/// A request's rows in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Number of the request.
    pub id: SeqId,
    /// How urgent it is.
    pub class: Class,
    /// Its tenant.
    pub tenant: TenantId,
    /// Position of its first row.
    pub first_position: usize,
    /// Number of its rows.
    pub rows: usize,
    /// Number of its tokens at this step, prompt and output.
    pub num_tokens: usize,
    /// Whether the step gives it a token: its last known token is among the rows.
    pub wants_logits: bool,
}

/// A request whose memory was taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preempted {
    /// Number of the request.
    pub id: SeqId,
    /// Number of tokens that went to the host pool; 0 where all were dropped.
    pub stored: usize,
}
// ANCHOR_END: trace

/// The rows of a batch, whose sequences stand in the order of the running queue.
pub(crate) fn shares<X: AsRef<Meta>>(running: &[Request<X>], batch: &Batch) -> Vec<Share> {
    let mut running = running.iter();
    let share = |sequence: &BatchSequence| {
        let request = running.find(|request| request.id == sequence.id)?;
        let meta = request.attached.as_ref();
        Some(Share {
            id: sequence.id,
            class: meta.class,
            tenant: meta.tenant,
            first_position: batch.positions[sequence.first_row],
            rows: sequence.num_rows,
            num_tokens: request.num_tokens(),
            wants_logits: sequence.wants_logits,
        })
    };
    batch.sequences.iter().filter_map(share).collect()
}

/// One step of an engine that keeps a trace; the ends that it reports are added to the trace.
///
/// # Errors
/// Those of [`Engine::step`].
pub fn step<R: Runner, M: Memory<X> + Reclaim, X: AsRef<Meta> + AsMut<Meta>>(
    engine: &mut Engine<R, M, Scheduler, X>,
    on_event: &mut dyn FnMut(Event<'_>) -> Delivery,
) -> Result<(), EngineError> {
    let mut finished = Vec::new();
    engine.step(&mut |event| {
        if let Event::Finished { id, reason, .. } = event {
            finished.push((id, reason));
        }
        on_event(event)
    })?;
    if let Some(last) = engine.scheduler.trace.as_mut().and_then(|trace| trace.last_mut()) {
        last.finished = finished;
    }
    Ok(())
}

impl StepTrace {
    /// Number of rows of the step.
    pub fn num_rows(&self) -> usize {
        self.computed.iter().map(|share| share.rows).sum()
    }
}

/// The steps as lines of text: a line for a step, a cell for a request. `7+` is seven rows with more to come, `7` seven
/// rows and a token, `w` waits, `<` was preempted, `·` is not here.
pub fn picture(steps: &[StepTrace], num_requests: usize) -> String {
    let mut text = String::new();
    for step in steps {
        text += &format!("{:>4} ", step.step);
        for id in (0..num_requests as u64).map(SeqId) {
            text += &format!(" {:<4}", cell(step, id));
        }
        let finished: Vec<String> = (step.finished.iter())
            .map(|(id, reason)| format!("{id} {reason:?}"))
            .collect();
        let line = format!("  {} rows  finished [{}]", step.num_rows(), finished.join(", "));
        text += &(line + "\n");
    }
    text
}

fn cell(step: &StepTrace, id: SeqId) -> String {
    if let Some(share) = step.computed.iter().find(|share| share.id == id) {
        let more = if share.wants_logits { "" } else { "+" };
        return format!("{}{more}", share.rows);
    }
    if step.preempted.iter().any(|preempted| preempted.id == id) {
        return "<".to_owned();
    }
    if step.waiting.contains(&id) {
        return "w".to_owned();
    }
    "·".to_owned()
}
