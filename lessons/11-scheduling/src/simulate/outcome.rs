//! What a simulation measures.

use crate::meta::TenantId;
use crate::stats::ScheduleStats;
use crate::swap_space::SwapStats;
use std::collections::BTreeMap;
use std::time::Duration;

/// What became of a request. Times are counted from the start of the simulation; `None` where it did not happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When it came.
    pub arrived: Duration,
    /// When the first step with a row of it began.
    pub started: Option<Duration>,
    /// When it got its first token.
    pub first: Option<Duration>,
    /// When it got its last token so far.
    pub last: Option<Duration>,
    /// When it ended.
    pub finished: Option<Duration>,
    /// Tokens that it got.
    pub tokens: usize,
    /// Longest time between two tokens in a row.
    pub longest_gap: Duration,
    /// Whether it was cancelled because it had waited too long.
    pub gave_up: bool,
}

impl Outcome {
    /// From the arrival to the first row. Without a row: to its own end, or to `end` if it has not ended.
    pub fn waited(&self, end: Duration) -> Duration {
        let until = self.started.or(self.finished).unwrap_or(end);
        until.saturating_sub(self.arrived)
    }

    /// From the arrival to the first token, if there was one.
    pub fn ttft(&self) -> Option<Duration> {
        Some(self.first?.saturating_sub(self.arrived))
    }

    /// From the arrival to the end, if it got all of its answer.
    pub fn latency(&self) -> Option<Duration> {
        let finished = self.finished.filter(|_| !self.gave_up)?;
        Some(finished.saturating_sub(self.arrived))
    }
}

/// The result of a simulation.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// One for each job, in the order of the jobs. Jobs that the horizon cut off are missing at the end.
    pub outcomes: Vec<Outcome>,
    /// When the last step ended.
    pub end: Duration,
    /// The scheduler's counts.
    pub stats: ScheduleStats,
    /// What went to the host pool and came back.
    pub swaps: SwapStats,
    /// Rows that each tenant was given.
    pub served: BTreeMap<TenantId, u64>,
}

impl Simulation {
    /// Tokens of all answers.
    pub fn tokens(&self) -> usize {
        self.outcomes.iter().map(|outcome| outcome.tokens).sum()
    }

    /// Tokens of answers a second, up to the end.
    pub fn tokens_per_second(&self) -> f64 {
        self.tokens() as f64 / self.end.as_secs_f64().max(1e-9)
    }
}
