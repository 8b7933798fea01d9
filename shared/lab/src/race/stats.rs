//! The arithmetic of a race: quartiles, units, repeats.

use std::time::Duration;

/// First quartile, median and third quartile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    /// A quarter of the samples lie below.
    pub first: f64,
    /// Half of the samples lie below.
    pub median: f64,
    /// Three quarters of the samples lie below.
    pub third: f64,
}

/// Quartiles by linear interpolation between the sorted samples (the rule of NumPy's `percentile`). NaN when empty.
pub fn quartiles(samples: &[f64]) -> Quartiles {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    Quartiles {
        first: at(&sorted, 0.25),
        median: at(&sorted, 0.5),
        third: at(&sorted, 0.75),
    }
}

/// The median of `samples`; NaN when empty.
pub fn median(samples: &[f64]) -> f64 {
    quartiles(samples).median
}

fn at(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = share * last as f64;
    let below = place.floor() as usize;
    let above = place.ceil() as usize;
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// Calls in one round, so that the round takes about `at_least`; between 1 and a million.
pub(super) fn repeats(at_least: Duration, once: Duration) -> u32 {
    let once = once.as_secs_f64().max(1e-9);
    (at_least.as_secs_f64() / once).ceil().clamp(1.0, 1e6) as u32
}

/// `seconds` in the race's unit: a rate where the work is known, a time otherwise.
pub(super) fn in_unit(seconds: f64, work: Option<f64>, unit: &str) -> f64 {
    match work {
        Some(work) => work / seconds.max(1e-12),
        None => seconds * per_second(unit),
    }
}

/// How many of this unit make a second; seconds for a unit that is not known.
fn per_second(unit: &str) -> f64 {
    match unit.split('/').next().unwrap_or(unit).trim() {
        "ms" => 1e3,
        "µs" | "μs" => 1e6,
        "ns" => 1e9,
        _ => 1.0,
    }
}
