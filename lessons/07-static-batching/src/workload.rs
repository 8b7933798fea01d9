//! Requests to serve: their lengths and their arrivals.
//!
//! Every draw is a function of (seed, index): request 17 is the same whether or not the others were drawn, and the same
//! arrivals can be replayed against any scheduler.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use training::random::Random;

/// A request without its text: the arrival and the lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// Time of its arrival, since the start.
    pub at: Duration,
    /// Number of tokens of the prompt, at least 1.
    pub prompt_tokens: usize,
    /// Number of tokens of the answer, at least 1.
    pub new_tokens: usize,
}

/// The distribution of a length. A draw is rounded and kept within 1 to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Distribution {
    /// Always the same length.
    Equal(usize),
    /// Many short lengths, few long ones: the lengths of texts that end at each token with the same chance.
    Exponential {
        /// Mean before the maximum is applied.
        mean: f64,
        /// Longest length.
        max: usize,
    },
    /// Lengths as in real traffic: the logarithm of the length is normal.
    LogNormal {
        /// Mean of the logarithm; its exponential is the median length.
        mu: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Longest length.
        max: usize,
    },
}

impl Distribution {
    /// Log-normal lengths with this mean, before the maximum is applied, and a logarithm with the deviation `sigma`.
    pub fn log_normal(mean: f64, sigma: f64, max: usize) -> Distribution {
        let mu = mean.ln() - sigma * sigma / 2.0;
        Distribution::LogNormal { mu, sigma, max }
    }

    /// Draws one length.
    pub fn draw(&self, random: &mut Random) -> usize {
        let (length, max) = match *self {
            Distribution::Equal(length) => (length as f64, length),
            Distribution::Exponential { mean, max } => (mean * exponential(random), max),
            Distribution::LogNormal { mu, sigma, max } => ((mu + sigma * normal(random)).exp(), max),
        };
        (length.round() as usize).clamp(1, max.max(1))
    }
}

// ANCHOR: lengths
/// The lengths of prompt and answer of a request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Lengths {
    /// Prompt and answer are drawn independently.
    Independent {
        /// Tokens of the prompt.
        prompt: Distribution,
        /// Tokens of the answer.
        new: Distribution,
    },
    /// 60 % short prompt and short answer, 30 % short prompt and long answer, 10 % long prompt and short answer.
    Mix {
        /// Tokens of a short and of a long prompt.
        prompt: (usize, usize),
        /// Tokens of a short and of a long answer.
        new: (usize, usize),
    },
}
// ANCHOR_END: lengths

impl Lengths {
    /// All requests have the same lengths.
    pub fn equal(prompt_tokens: usize, new_tokens: usize) -> Lengths {
        Lengths::Independent {
            prompt: Distribution::Equal(prompt_tokens),
            new: Distribution::Equal(new_tokens),
        }
    }

    /// Equal prompts, exponential answers of this mean, none longer than `max_new_tokens`.
    pub fn exponential(prompt_tokens: usize, mean_new_tokens: f64, max_new_tokens: usize) -> Lengths {
        Lengths::Independent {
            prompt: Distribution::Equal(prompt_tokens),
            new: Distribution::Exponential {
                mean: mean_new_tokens,
                max: max_new_tokens,
            },
        }
    }

    /// The mix of three kinds: 64 → 32 (60 %), 64 → 192 (30 %), 256 → 32 (10 %). It fits a context of 512.
    pub fn mix() -> Lengths {
        Lengths::Mix {
            prompt: (64, 256),
            new: (32, 192),
        }
    }

    /// (prompt_tokens, new_tokens) of request `index`.
    pub fn at(&self, seed: u64, index: u64) -> (usize, usize) {
        let mut random = Random::at(&[seed, LENGTHS, index]);
        match *self {
            Lengths::Independent { prompt, new } => {
                let mut answer = Random::at(&[seed, ANSWERS, index]);
                (prompt.draw(&mut random), new.draw(&mut answer))
            }
            Lengths::Mix { prompt, new } => {
                let (prompt, new) = match random.unit() {
                    kind if kind < 0.6 => (prompt.0, new.0),
                    kind if kind < 0.9 => (prompt.0, new.1),
                    _ => (prompt.1, new.0),
                };
                (prompt.max(1), new.max(1))
            }
        }
    }
}

/// The arrivals of requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pace {
    /// All at the start: requests wait until the last batch.
    AtOnce,
    /// One in each interval, the first after one interval.
    Every(Duration),
    /// Independent users: gaps are exponential, so that some arrivals come close together.
    Poisson {
        /// Mean number of arrivals a second.
        per_second: f64,
    },
}

impl Pace {
    /// Time between request `index` and the request before it (the start, for the first).
    fn gap(&self, seed: u64, index: u64) -> Duration {
        match *self {
            Pace::AtOnce => Duration::ZERO,
            Pace::Every(interval) => interval,
            Pace::Poisson { per_second } => {
                let gap = exponential(&mut Random::at(&[seed, GAPS, index])) / per_second;
                Duration::try_from_secs_f64(gap).unwrap_or(Duration::MAX)
            }
        }
    }
}

/// The first `count` requests of a stream, in order of arrival.
pub fn arrivals(seed: u64, count: usize, lengths: &Lengths, pace: &Pace) -> Vec<Arrival> {
    let mut at = Duration::ZERO;
    (0..count as u64)
        .map(|index| {
            at = at.saturating_add(pace.gap(seed, index));
            let (prompt_tokens, new_tokens) = lengths.at(seed, index);
            Arrival {
                at,
                prompt_tokens,
                new_tokens,
            }
        })
        .collect()
}

/// Purposes of the draws. Each is part of the address, so that they are independent.
const LENGTHS: u64 = 0;
const ANSWERS: u64 = 1;
const GAPS: u64 = 2;

/// Exponential with mean 1.
fn exponential(random: &mut Random) -> f64 {
    -(1.0 - random.unit()).ln()
}

/// Normal with mean 0 and deviation 1. Source: Box and Muller 1958, doi:10.1214/aoms/1177706645.
fn normal(random: &mut Random) -> f64 {
    let radius = (2.0 * exponential(random)).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_does_not_depend_on_how_many_are_asked_for() {
        let drawn = |seed, count| arrivals(seed, count, &Lengths::mix(), &Pace::Poisson { per_second: 100.0 });
        assert_eq!(drawn(7, 10), drawn(7, 1000)[..10]);
        assert_ne!(drawn(7, 10), drawn(8, 10));
    }

    #[test]
    fn means_and_shares_are_those_asked_for() {
        let drawn = |lengths: Lengths| arrivals(1, 20_000, &lengths, &Pace::AtOnce);
        let mean = |of: fn(&Arrival) -> usize, drawn: &[Arrival]| {
            drawn.iter().map(of).sum::<usize>() as f64 / drawn.len() as f64
        };
        let exponential = drawn(Lengths::exponential(4, 50.0, 100_000));
        assert!((mean(|a| a.new_tokens, &exponential) - 50.0).abs() < 1.0);
        let mix = drawn(Lengths::mix());
        for ((prompt, new), expected) in [((64, 32), 0.6), ((64, 192), 0.3), ((256, 32), 0.1)] {
            let same = mix.iter().filter(|a| (a.prompt_tokens, a.new_tokens) == (prompt, new));
            assert!((same.count() as f64 / mix.len() as f64 - expected).abs() < 0.02);
        }
        let (prompt, new) = (Distribution::log_normal(80.0, 0.8, 512), Distribution::Equal(1));
        let log_normal = drawn(Lengths::Independent { prompt, new });
        assert!((mean(|a| a.prompt_tokens, &log_normal) - 80.0).abs() < 2.0);
        assert!(log_normal.iter().all(|a| (1..=512).contains(&a.prompt_tokens)));
    }

    #[test]
    fn arrivals_keep_their_pace_and_order() {
        let stream = arrivals(3, 20_000, &Lengths::equal(1, 1), &Pace::Poisson { per_second: 50.0 });
        assert!(stream.is_sorted_by_key(|a| a.at));
        let rate = stream.len() as f64 / stream[stream.len() - 1].at.as_secs_f64();
        assert!((rate - 50.0).abs() < 1.5, "{rate}");
        let regular = arrivals(3, 3, &Lengths::equal(1, 1), &Pace::Every(Duration::from_millis(4)));
        assert_eq!(regular[2].at, Duration::from_millis(12));
    }
}
