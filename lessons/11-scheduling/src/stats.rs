//! What the scheduler did, counted.

use serde::Serialize;

/// Counts since the engine was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ScheduleStats {
    /// Steps.
    pub steps: u64,
    /// Rows of all steps.
    pub rows: u64,
    /// Times that a request joined the running ones.
    pub admitted: u64,
    /// Parts of a text that were computed with more of it to come.
    pub chunks: u64,
    /// Times that a request was sent back.
    pub preemptions: u64,
    /// Of these, how often its keys and values were copied to the host pool.
    pub swapped: u64,
    /// Tokens whose keys and values were forgotten; they are computed once more, unless the prefix cache has them still.
    pub recomputed_tokens: u64,
    /// Requests that gave up before they had a first row.
    pub timed_out: u64,
}
