//! What the scheduler decided, step by step: for figures and for looking for faults.

use crate::entry::{Class, Entry, TenantId};
use continuous_batching::batch::{Batch, BatchSequence};
use continuous_batching::request::{FinishReason, SeqId};
use serde::{Deserialize, Serialize};
use std::time::Duration;

// ANCHOR: trace
/// One step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTrace {
    /// The step's number, from 0.
    pub step: u64,
    /// When it began.
    pub now: Duration,
    /// Most rows that it may have; nothing where there is no bound.
    pub budget: Option<usize>,
    /// The rows that it has, in the order of the batch.
    pub computed: Vec<Share>,
    /// Who joined, in the order of the policy.
    pub joined: Vec<SeqId>,
    /// Who was sent back, in order.
    pub sent_back: Vec<SentBack>,
    /// Who waits, oldest first.
    pub waiting: Vec<SeqId>,
    /// Whose end was announced, and why.
    pub finished: Vec<(SeqId, FinishReason)>,
}

/// A request's rows in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Whose.
    pub id: SeqId,
    /// How urgent.
    pub class: Class,
    /// Who pays.
    pub tenant: TenantId,
    /// Position of its first row.
    pub first_position: usize,
    /// Its rows.
    pub rows: usize,
    /// Tokens that it has now, prompt and output.
    pub num_tokens: usize,
    /// Whether a token comes out of it: its last known token is among the rows.
    pub wants_logits: bool,
}

/// A request that gave its memory back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentBack {
    /// Whose.
    pub id: SeqId,
    /// Tokens that went to the host pool; 0: all were forgotten.
    pub stored: usize,
}
// ANCHOR_END: trace

/// The rows of a batch, whose sequences stand in the order of those who run.
pub fn shares(running: &[Entry], batch: &Batch) -> Vec<Share> {
    let mut running = running.iter();
    let share = |sequence: &BatchSequence| {
        let entry = running.find(|entry| entry.id() == sequence.id)?;
        Some(Share {
            id: sequence.id,
            class: entry.meta.class,
            tenant: entry.meta.tenant,
            first_position: batch.positions[sequence.first_row],
            rows: sequence.num_rows,
            num_tokens: entry.request.num_tokens(),
            wants_logits: sequence.wants_logits,
        })
    };
    batch.sequences.iter().filter_map(share).collect()
}

impl StepTrace {
    /// Rows of the step.
    pub fn num_rows(&self) -> usize {
        self.computed.iter().map(|share| share.rows).sum()
    }
}

/// The steps as a picture of letters: a line a step, a cell a request: `7+` is seven rows with more to come, `7` seven rows and a token, `w` waits,
/// `<` was sent back, `·` is not here.
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
    if step.sent_back.iter().any(|sent| sent.id == id) {
        return "<".to_owned();
    }
    if step.waiting.contains(&id) {
        return "w".to_owned();
    }
    "·".to_owned()
}
