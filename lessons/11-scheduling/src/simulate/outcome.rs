//! What is seen of a simulation.

use crate::meta::TenantId;
use crate::stats::ScheduleStats;
use crate::swap_space::SwapStats;
use std::collections::BTreeMap;
use std::time::Duration;

/// What became of a request. Times since the start; `None`: it did not come to that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When it came.
    pub arrived: Duration,
    /// When the first step with a row of it began.
    pub started: Option<Duration>,
    /// Its first token.
    pub first: Option<Duration>,
    /// Its last token so far.
    pub last: Option<Duration>,
    /// Its end.
    pub finished: Option<Duration>,
    /// Tokens that it got.
    pub tokens: usize,
    /// Longest time between two of them.
    pub longest_gap: Duration,
    /// Whether it gave up.
    pub gave_up: bool,
}

impl Outcome {
    /// From the arrival to the first row; for one that never got any, to `end`.
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

/// What came of a plan.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// One for each job, in their order. Jobs that the horizon cut off are missing at the end.
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
