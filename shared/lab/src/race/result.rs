//! The outcome of a race.

use serde::{Deserialize, Serialize};

use super::{Better, quartiles};

/// One entry's outcome, in the race's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RaceEntry {
    /// Name, as given to [`super::Race::entry`].
    pub name: String,
    /// Position on the axis of a chart, as given to [`super::Race::entry`].
    pub x: Option<f64>,
    /// Median of the rounds.
    pub median: f64,
    /// Third quartile minus first quartile of the rounds: half of them lie within.
    pub spread: f64,
    /// Result of each round, in order. Not recorded.
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
    /// Stable name in the recorded document.
    pub id: String,
    /// Title that readers see.
    pub title: String,
    /// Unit of every median and spread.
    pub unit: String,
    /// Whether lower or higher values are better.
    pub better: Better,
    /// Name of the entry that the others are compared with.
    pub baseline: String,
    /// The entries, in the order in which they were added.
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

    /// The median of the entry of that name (with several `x`, at the largest); NaN if there is none.
    pub fn median(&self, name: &str) -> f64 {
        self.entry(name).map_or(f64::NAN, |entry| entry.median)
    }

    /// The median of the entry of that name at that `x`; NaN if there is none.
    pub fn median_at(&self, name: &str, x: f64) -> f64 {
        self.entry_at(name, x).map_or(f64::NAN, |entry| entry.median)
    }

    /// How many times as good `a` is as `b`: above 1, `a` wins, whether the unit is a time or a rate. With several
    /// `x`, at the largest one.
    ///
    /// # Panics
    /// If the race has no entry of that name: a fault of the lesson.
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
    /// If the race has no entry of that name there: a fault of the lesson.
    #[track_caller]
    pub fn ratio_at(&self, a: &str, b: &str, x: f64) -> f64 {
        let find = |name: &str| {
            self.entry_at(name, x)
                .unwrap_or_else(|| panic!("race {}: no entry {name:?} at {x}", self.id))
        };
        self.times_as_good(find(a), find(b))
    }

    pub(super) fn times_as_good(&self, a: &RaceEntry, b: &RaceEntry) -> f64 {
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
