//! What the scheduler did, counted.

use serde::Serialize;

/// Counts since the scheduler was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ScheduleStats {
    /// Number of steps.
    pub steps: u64,
    /// Number of rows of all steps.
    pub rows: u64,
    /// Number of times that a request joined the running ones.
    pub admitted: u64,
    /// Number of parts of a text that were computed with more of it to come.
    pub chunks: u64,
    /// Number of preemptions.
    pub preemptions: u64,
    /// Number of preemptions that copied keys and values to the host pool.
    pub swapped: u64,
    /// Number of tokens whose keys and values were dropped; they are computed once more, unless the prefix cache still
    /// has them.
    pub recomputed_tokens: u64,
    /// Number of requests that were cancelled because they waited too long for a first row.
    pub timed_out: u64,
}
