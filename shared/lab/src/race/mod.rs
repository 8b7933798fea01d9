//! A race: several ways to the same result, over one input, in one process.
//!
//! 1. Each entry runs once, unmeasured (the warm-up), and its output is checked against the baseline's.
//! 2. Then the entries run in turn, round after round, so that a slow second of the machine hits all of them.
//! 3. Each entry's result is the **median** of its rounds; its **spread** is the distance between the first and the
//!    third quartile: half of the rounds lie within it.

mod stats;
mod table;

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

pub use stats::{Quartiles, quartiles};

/// Which end of the unit wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Times: less is better.
    Lower,
    /// Rates: more is better.
    Higher,
}

/// What a race can fail with.
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
        /// In the words of the check.
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

/// Measures one call. Tests give their own, so that no test looks at the real time.
pub trait Clock {
    /// Time since any fixed moment; never goes back.
    fn now(&mut self) -> Duration;
}

/// The machine's monotonic clock.
#[derive(Debug)]
pub struct WallClock(Instant);

impl Default for WallClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for WallClock {
    fn now(&mut self) -> Duration {
        self.0.elapsed()
    }
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

    /// The unit: `s`, `ms`, `µs`, `ns`; any other text with [`Race::work`].
    pub fn unit(mut self, unit: &str) -> Self {
        self.unit = unit.into();
        self
    }

    /// Which end of the unit wins.
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
    /// the clock itself would show. Not for entries that change when repeated.
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
    pub fn entry_with_work(
        mut self,
        name: &str,
        x: Option<f64>,
        work: f64,
        run: impl FnMut() -> O + 'a,
    ) -> Self {
        self.better = Better::Higher;
        self = self.entry(name, x, run);
        if let Some(entry) = self.entries.last_mut() {
            entry.work = Some(work);
        }
        self
    }

    /// An entry that measures itself, so that it can prepare (and clean up) outside the measured time.
    pub fn entry_timed(
        self,
        name: &str,
        x: Option<f64>,
        mut run: impl FnMut() -> (O, Duration) + 'a,
    ) -> Self {
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

    /// Runs the race on the machine's clock.
    pub fn run(self) -> Result<RaceResult, RaceError> {
        self.run_with(&mut WallClock::default(), &mut |_, _| {})
    }

    /// The title that it was made with.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Calls that [`Race::run_with`] reports progress for: entries times (rounds + 1).
    pub fn num_calls(&self) -> usize {
        self.entries.len() * (self.rounds + 1)
    }

    /// Runs the race on any clock; `progress(done, name)` is called before each call.
    pub fn run_with(
        mut self,
        clock: &mut dyn Clock,
        progress: &mut dyn FnMut(usize, &str),
    ) -> Result<RaceResult, RaceError> {
        let baseline = self.baseline_name()?;
        let mut done = 0;
        let mut outputs = Vec::with_capacity(self.entries.len());
        let mut repeats = Vec::with_capacity(self.entries.len());
        for entry in &mut self.entries {
            progress(done, &entry.name);
            let (output, time) = (entry.run)(clock);
            outputs.push(output);
            repeats.push(stats::repeats(self.at_least, time));
            done += 1;
        }
        self.compare(&baseline, &outputs)?;
        drop(outputs);
        let mut times = vec![Vec::with_capacity(self.rounds); self.entries.len()];
        for _ in 0..self.rounds {
            for (index, entry) in self.entries.iter_mut().enumerate() {
                progress(done, &entry.name);
                let mut total = Duration::ZERO;
                for _ in 0..repeats[index] {
                    total += (entry.run)(clock).1;
                }
                times[index].push(total.as_secs_f64() / repeats[index] as f64);
                done += 1;
            }
        }
        let entries = self.entries.iter().zip(times).map(|(entry, seconds)| {
            let work = entry.work.or(self.work);
            let samples: Vec<f64> = seconds
                .into_iter()
                .map(|s| stats::in_unit(s, work, &self.unit))
                .collect();
            RaceEntry::from_samples(&entry.name, entry.x, samples)
        });
        let entries = entries.collect();
        Ok(RaceResult {
            id: self.id,
            title: self.title,
            unit: self.unit,
            better: self.better,
            baseline,
            entries,
        })
    }

    fn baseline_name(&self) -> Result<String, RaceError> {
        let wanted = self
            .baseline
            .clone()
            .or_else(|| self.entries.first().map(|entry| entry.name.clone()));
        let wanted = wanted.unwrap_or_default();
        if self.entries.iter().any(|entry| entry.name == wanted) {
            Ok(wanted)
        } else {
            Err(RaceError::NoBaseline {
                race: self.id.clone(),
                baseline: wanted,
            })
        }
    }

    fn compare(&mut self, baseline: &str, outputs: &[O]) -> Result<(), RaceError> {
        let Some(check) = &mut self.check else {
            return Ok(());
        };
        for (entry, output) in self.entries.iter().zip(outputs) {
            let reference = self
                .entries
                .iter()
                .position(|other| other.name == baseline && other.x == entry.x);
            let Some(reference) = reference else { continue };
            check(&outputs[reference], output).map_err(|why| RaceError::Disagree {
                race: self.id.clone(),
                entry: entry.name.clone(),
                baseline: baseline.into(),
                why,
            })?;
        }
        Ok(())
    }
}

/// One entry's outcome, in the race's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RaceEntry {
    /// As given to [`Race::entry`].
    pub name: String,
    /// As given to [`Race::entry`].
    pub x: Option<f64>,
    /// Median of the rounds.
    pub median: f64,
    /// Third quartile minus first quartile of the rounds: half of them lie within.
    pub spread: f64,
    /// Every round, in order.
    #[serde(skip)]
    pub samples: Vec<f64>,
}

impl RaceEntry {
    /// Median and spread of `samples`, which are in the race's unit.
    pub fn from_samples(name: &str, x: Option<f64>, samples: Vec<f64>) -> Self {
        let q = quartiles(&samples);
        Self {
            name: name.into(),
            x,
            median: q.median,
            spread: q.third - q.first,
            samples,
        }
    }
}

/// The outcome of a race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RaceResult {
    /// Stable name, for machines.
    pub id: String,
    /// For readers.
    pub title: String,
    /// Unit of every median and spread.
    pub unit: String,
    /// Which end of the unit wins.
    pub better: Better,
    /// Name of the entry that the others are compared with.
    pub baseline: String,
    /// In the order in which they were given.
    pub entries: Vec<RaceEntry>,
}

impl RaceResult {
    /// The entry of that name; with several `x`, the one with the largest.
    pub fn entry(&self, name: &str) -> Option<&RaceEntry> {
        let x = |entry: &&RaceEntry| entry.x.unwrap_or(f64::NEG_INFINITY);
        self.entries
            .iter()
            .filter(|entry| entry.name == name)
            .max_by(|a, b| x(a).total_cmp(&x(b)))
    }

    /// The entry of that name at that `x`.
    pub fn entry_at(&self, name: &str, x: f64) -> Option<&RaceEntry> {
        self.entries
            .iter()
            .find(|entry| entry.name == name && entry.x == Some(x))
    }

    /// How many times as good `a` is as `b`: above 1, `a` wins, whether the unit is a time or a rate. With several
    /// `x`, at the largest one.
    ///
    /// # Panics
    /// If one of them did not take part: a slip in the lesson.
    #[track_caller]
    pub fn ratio(&self, a: &str, b: &str) -> f64 {
        let find = |name: &str| {
            self.entry(name)
                .unwrap_or_else(|| panic!("race {}: no entry {name:?}", self.id))
        };
        self.times_as_good(find(a), find(b))
    }

    /// As [`RaceResult::ratio`], at one `x`.
    ///
    /// # Panics
    /// If one of them did not take part there.
    #[track_caller]
    pub fn ratio_at(&self, a: &str, b: &str, x: f64) -> f64 {
        let find = |name: &str| {
            self.entry_at(name, x)
                .unwrap_or_else(|| panic!("race {}: no entry {name:?} at {x}", self.id))
        };
        self.times_as_good(find(a), find(b))
    }

    fn times_as_good(&self, a: &RaceEntry, b: &RaceEntry) -> f64 {
        match self.better {
            Better::Lower => b.median / a.median,
            Better::Higher => a.median / b.median,
        }
    }

    /// The medians of one entry over `x`, for a chart's line.
    pub fn line(&self, name: &str) -> Vec<(f64, f64)> {
        self.entries
            .iter()
            .filter(|e| e.name == name)
            .filter_map(|e| Some((e.x?, e.median)))
            .collect()
    }
}
