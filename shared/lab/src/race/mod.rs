//! A race: several ways to the same result, over one input, in one process.
//!
//! 1. Each entry runs once, unmeasured (the warm-up), and its output is checked against the baseline's.
//! 2. Then the entries run in turn, round after round, so that a slow second of the machine hits all of them.
//! 3. Each entry's result is the **median** of its rounds; its **spread** is the distance between the first and the
//!    third quartile: half of the rounds lie within it.

mod clock;
mod quiet;
mod result;
mod run;
mod stats;
mod table;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use clock::{Clock, WallClock};
pub use quiet::Disturbance;
pub use result::{RaceEntry, RaceResult};
pub use stats::{Quartiles, median, quartiles};

/// Whether lower or higher values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Times: less is better.
    Lower,
    /// Rates: more is better.
    Higher,
}

/// Why a race fails.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum RaceError {
    /// An entry gave another result than the baseline: its time means nothing.
    #[error("race {race}: {entry} does not agree with {baseline}: {why}")]
    Disagree {
        /// The race's id.
        race: String,
        /// The entry that differs.
        entry: String,
        /// The entry that it was compared with.
        baseline: String,
        /// What the check found.
        why: String,
    },
    /// The baseline named is not among the entries.
    #[error("race {race}: no entry is called {baseline}, but it is named as the baseline")]
    NoBaseline {
        /// The race's id.
        race: String,
        /// The name that was asked for.
        baseline: String,
    },
}

type Run<'a, O> = Box<dyn FnMut(&mut dyn Clock) -> (O, Duration) + 'a>;
type Check<'a, O> = Box<dyn FnMut(&O, &O) -> Result<(), String> + 'a>;

struct Runner<'a, O> {
    name: String,
    x: Option<f64>,
    work: Option<f64>,
    run: Run<'a, O>,
}

/// A race to be run by [`crate::story::Story::race`] or [`Race::run`]. `O` is what each entry returns.
pub struct Race<'a, O = ()> {
    id: String,
    title: String,
    unit: String,
    better: Better,
    rounds: usize,
    at_least: Duration,
    work: Option<f64>,
    baseline: Option<String>,
    check: Option<Check<'a, O>>,
    entries: Vec<Runner<'a, O>>,
}

impl<'a, O> Race<'a, O> {
    /// A race without entries: unit "ms", less is better, 7 rounds, the first entry is the baseline.
    pub fn new(id: &str, title: &str) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            unit: "ms".into(),
            better: Better::Lower,
            rounds: 7,
            at_least: Duration::ZERO,
            work: None,
            baseline: None,
            check: None,
            entries: Vec::new(),
        }
    }

    /// The unit: `s`, `ms`, `µs` (or `us`), `ns`; any other text with [`Race::work`].
    pub fn unit(mut self, unit: &str) -> Self {
        self.unit = if unit == "us" { "µs".into() } else { unit.into() };
        self
    }

    /// Whether lower or higher values are better.
    pub fn better(mut self, better: Better) -> Self {
        self.better = better;
        self
    }

    /// How many measured rounds (at least 1).
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds.max(1);
        self
    }

    /// Repeats an entry inside one round until the round takes about this long, and divides. For work so short that
    /// reading the clock would add to its time. Not for entries that change when repeated.
    pub fn at_least(mut self, duration: Duration) -> Self {
        self.at_least = duration;
        self
    }

    /// The entry that the others are compared with.
    pub fn baseline(mut self, name: &str) -> Self {
        self.baseline = Some(name.into());
        self
    }

    /// Turns time into a rate: each call does this much work, counted in the unit's numerator (a race in `GB/s` gives
    /// bytes / 1e9, one in `tokens/s` gives tokens). More is better from here on.
    pub fn work(mut self, work: f64) -> Self {
        self.work = Some(work);
        self.better = Better::Higher;
        self
    }

    /// An entry. `x` is its place on the chart's axis (a size, a length) where the race has one.
    pub fn entry(self, name: &str, x: Option<f64>, mut run: impl FnMut() -> O + 'a) -> Self {
        self.push(
            name,
            x,
            None,
            Box::new(move |clock| {
                let start = clock.now();
                let output = run();
                (output, clock.now().saturating_sub(start))
            }),
        )
    }

    /// An entry with its own amount of work, where work differs from entry to entry. See [`Race::work`].
    pub fn entry_with_work(mut self, name: &str, x: Option<f64>, work: f64, run: impl FnMut() -> O + 'a) -> Self {
        self.better = Better::Higher;
        self = self.entry(name, x, run);
        if let Some(entry) = self.entries.last_mut() {
            entry.work = Some(work);
        }
        self
    }

    /// An entry that measures itself, so that it can prepare (and clean up) outside the measured time.
    pub fn entry_timed(self, name: &str, x: Option<f64>, mut run: impl FnMut() -> (O, Duration) + 'a) -> Self {
        self.push(name, x, None, Box::new(move |_| run()))
    }

    /// Compares each entry's first output with that of the baseline **at the same `x`**, before anything is timed.
    /// The first argument is the baseline's.
    pub fn check(mut self, check: impl FnMut(&O, &O) -> Result<(), String> + 'a) -> Self {
        self.check = Some(Box::new(check));
        self
    }

    fn push(mut self, name: &str, x: Option<f64>, work: Option<f64>, run: Run<'a, O>) -> Self {
        self.entries.push(Runner {
            name: name.into(),
            x,
            work,
            run,
        });
        self
    }
}
