//! Axes: their range, the places of their ticks and the texts of these.
//!
//! plotters chooses ticks, too, but writes them all in full, names powers of two by powers of ten, and lets labels
//! touch. So an axis brings its own ticks; where a value stands, plotters asks [`Ranged::map`].

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::digits::{doubling_text, linear_text, log_text};
use super::{font, theme};

/// An axis from `low` to `high`.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Left or lower end.
    pub low: f64,
    /// Right or upper end.
    pub high: f64,
    /// Whether equal ratios take equal room.
    pub log: bool,
    /// Places and texts of the ticks, ascending.
    pub ticks: Vec<(f64, String)>,
    /// Pixels between the ends of the plot and the ends of the axis.
    pub air: f64,
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let (from, to) = (f64::from(from), f64::from(to));
        let air = self.air * (to - from).signum();
        (from + air + self.place(*value) * (to - from - 2.0 * air)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        let stride = self.ticks.len().div_ceil(hint.max_num_points().max(1)).max(1);
        self.ticks.iter().step_by(stride).map(|tick| tick.0).collect()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|tick| tick.0 == *value);
        tick.map_or(String::new(), |tick| tick.1.clone())
    }
}

impl Axis {
    /// Where `value` stands, 0 at the low end, 1 at the high one; not limited to that range.
    pub fn place(&self, value: f64) -> f64 {
        let at = |v: f64| if self.log { v.ln() } else { v };
        (at(value) - at(self.low)) / (at(self.high) - at(self.low))
    }

    /// The value at a place: the inverse of [`Axis::place`].
    pub fn value(&self, place: f64) -> f64 {
        if self.log {
            (self.low.ln() + place * (self.high.ln() - self.low.ln())).exp()
        } else {
            self.low + place * (self.high - self.low)
        }
    }

    /// An axis without ticks.
    pub fn plain(low: f64, high: f64) -> Self {
        Self {
            low,
            high,
            log: false,
            ticks: Vec::new(),
            air: 0.0,
        }
    }

    /// Number of labels that fit into `room` pixels side by side without touching.
    pub fn num_labels_across(&self, room: f64) -> usize {
        let distance =
            |pair: &[(f64, String)]| (self.place(pair[1].0) - self.place(pair[0].0)) * (room - 2.0 * self.air);
        let closest = self.ticks.windows(2).map(distance).fold(f64::INFINITY, f64::min);
        let stride = ((self.widest_tick() + 20.0) / closest).ceil().max(1.0) as usize;
        self.ticks.len().div_ceil(stride)
    }

    /// Width of the widest tick, in pixels.
    pub fn widest_tick(&self) -> f64 {
        let widths = self.ticks.iter().map(|tick| font::width(&tick.1, theme::SMALL, false));
        widths.fold(0.0, f64::max)
    }

    /// An axis of values: from zero (or below it, for negative values) to a little above the largest. With `log`,
    /// from a round number to a round number around the positive values.
    pub fn of_values(values: impl Iterator<Item = f64> + Clone, log: bool) -> Self {
        if log {
            return Self::log_values(values);
        }
        let finite = values.filter(|value| value.is_finite());
        let wider = |(low, high): (f64, f64), value| (low.min(value), high.max(value));
        let (low, high) = finite.fold((0.0, 0.0), wider);
        let high = if low == high { low + 1.0 } else { high };
        let step = nice_step((high - low) / 5.0);
        // To the next tick where that is near; otherwise a little air, so that no room is lost.
        let air = 0.04 * (high - low);
        let end = |value: f64, tick: f64| {
            if (tick - value).abs() <= air {
                tick
            } else {
                value + air * value.signum()
            }
        };
        let high = end(high, (high / step - 1e-9).ceil() * step);
        let low = if low < 0.0 {
            end(low, (low / step + 1e-9).floor() * step)
        } else {
            low
        };
        Self::linear(low, high, step)
    }

    /// An axis along which the data runs: tight around it, from zero when the data begins near zero.
    pub fn of_positions(values: impl Iterator<Item = f64> + Clone, log: bool) -> Self {
        let finite: Vec<f64> = values
            .filter(|value| value.is_finite() && (!log || *value > 0.0))
            .collect();
        if log {
            return Self::log_positions(&finite);
        }
        let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
        let high = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = match (low, high) {
            _ if low > high => (0.0, 1.0),
            _ if low == high => (low.min(0.0), if high > 0.0 { high * 1.25 } else { high + 1.0 }),
            _ if low > 0.0 && low <= 0.3 * high => (0.0, high),
            range => range,
        };
        let whole = finite.iter().all(|value| value.fract() == 0.0);
        let step = nice_step((high - low) / 6.0);
        let step = if whole { step.max(1.0) } else { step };
        // A sliver of air, so that the last marker is not cut by the edge.
        Self::linear(low, high, step)
    }

    /// An axis over exactly this range.
    pub fn fixed(low: f64, high: f64, log: bool) -> Self {
        if log && low > 0.0 {
            return Self::log(low, high, log_ticks(low, high));
        }
        Self::linear(low, high, nice_step((high - low) / 5.0))
    }

    fn linear(low: f64, high: f64, step: f64) -> Self {
        let first = (low / step - 1e-6).ceil() as i64;
        let last = (high / step + 1e-6).floor() as i64;
        let largest = low.abs().max(high.abs());
        let tick = |place: f64| (place, linear_text(place, step, largest));
        let ticks = (first..=last).map(|index| tick(index as f64 * step)).collect();
        Self {
            ticks,
            ..Self::plain(low, high)
        }
    }

    fn log(low: f64, high: f64, ticks: Vec<(f64, String)>) -> Self {
        Self {
            log: true,
            ticks,
            ..Self::plain(low, high)
        }
    }

    fn log_values(values: impl Iterator<Item = f64>) -> Self {
        let positive = values.filter(|value| value.is_finite() && *value > 0.0);
        let wider = |(low, high): (f64, f64), value| (low.min(value), high.max(value));
        let (low, high) = positive.fold((f64::INFINITY, 0.0), wider);
        if low > high {
            return Self::log_values([1.0, 10.0].into_iter());
        }
        let low = round_down(low * 0.95);
        let high = round_up((high * 1.02).max(low * 2.0));
        Self::log(low, high, log_ticks(low, high))
    }

    fn log_positions(values: &[f64]) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        if low > high {
            return Self::log_positions(&[1.0, 10.0]);
        }
        let (low, high) = if low == high {
            (low / 2.0, high * 2.0)
        } else {
            (low, high)
        };
        let mut distinct = values.to_vec();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        let doubling = distinct.iter().all(|value| value.log2().fract() == 0.0);
        let ticks = if doubling && distinct.len() > 1 {
            doubling_ticks(low, high)
        } else {
            log_ticks(low, high)
        };
        // Fewer than two ticks say nothing about the ratio: name the places of the data itself.
        let ticks = if ticks.len() < 2 {
            distinct.iter().map(|value| (*value, log_text(*value))).collect()
        } else {
            ticks
        };
        Self::log(low, high, ticks)
    }
}

/// 1, 2 or 5 times a power of ten, near `rough`.
fn nice_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.max(1e-300).log10().floor());
    let step = match rough / power {
        digits if digits < 1.5 => 1.0,
        digits if digits < 3.2 => 2.0,
        digits if digits < 7.2 => 5.0,
        _ => 10.0,
    };
    step * power
}

/// The next 1, 2 or 5 times a power of ten, at `value` or below it.
fn round_down(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let fits = |step: &f64| step * power <= value * 1.000_001;
    power * [5.0, 2.0, 1.0].into_iter().find(fits).unwrap_or(1.0)
}

/// The next 1, 2 or 5 times a power of ten, at `value` or above it.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let fits = |step: &f64| step * power >= value * 0.999_999;
    power * [1.0, 2.0, 5.0].into_iter().find(fits).unwrap_or(10.0)
}

/// Powers of ten, every second or third where there are many; 1, 2, 5 where there are few.
fn log_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let (first, last) = ((low.log10() - 1e-9).ceil() as i32, (high.log10() + 1e-9).floor() as i32);
    let decades = high.log10() - low.log10();
    let stride = (decades / 6.0).ceil().max(1.0) as i32;
    let places: Vec<f64> = if decades > 2.5 {
        (first..=last)
            .filter(|power| power.rem_euclid(stride) == 0)
            .map(|power| 10f64.powi(power))
            .collect()
    } else {
        let steps = (first - 1..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(power)));
        steps
            .filter(|place| (low * 0.999_999..=high * 1.000_001).contains(place))
            .collect()
    };
    places.into_iter().map(|place| (place, log_text(place))).collect()
}

/// Powers of two, thinned to at most nine.
fn doubling_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let (first, last) = (low.log2().round() as i32, high.log2().round() as i32);
    let stride = (f64::from(last - first + 1) / 9.0).ceil().max(1.0) as usize;
    (first..=last)
        .step_by(stride)
        .map(|power| 2f64.powi(power))
        .map(|place| (place, doubling_text(place)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn ticks(axis: &Axis, expected: &str) {
        let texts: Vec<&str> = axis.ticks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts.join(" "), expected);
    }

    #[track_caller]
    fn values(values: &[f64], log: bool, expected: &str) {
        ticks(&Axis::of_values(values.iter().copied(), log), expected);
    }

    #[track_caller]
    fn positions(values: &[f64], log: bool, expected: &str) {
        ticks(&Axis::of_positions(values.iter().copied(), log), expected);
    }

    #[test]
    fn values_begin_at_zero_and_end_above_the_largest() {
        values(&[3.0, 12.3], false, "0 2 4 6 8 10 12");
        values(&[0.2, 0.93], false, "0 0.2 0.4 0.6 0.8");
        values(&[0.2, 0.98], false, "0 0.2 0.4 0.6 0.8 1.0");
        values(&[12_000.0, 47_000.0], false, "0 10k 20k 30k 40k");
        values(&[-2.0, 3.0], false, "−2 −1 0 1 2 3");
        values(&[1e-6, 4e-6], false, "0 10⁻⁶ 2×10⁻⁶ 3×10⁻⁶ 4×10⁻⁶");
        values(&[], false, "0 0.2 0.4 0.6 0.8 1.0");
        values(&[0.0], false, "0 0.2 0.4 0.6 0.8 1.0");
        values(&[f64::NAN, 4.0], false, "0 1 2 3 4");
    }

    #[test]
    fn logarithmic_values_have_few_ticks_over_any_range() {
        values(&[0.4, 2900.0], true, "1 10 100 1000");
        values(&[20.0, 90.0], true, "10 20 50 100");
        values(&[1e-9, 1e9], true, "10⁻⁸ 10⁻⁴ 1 10k 100M");
        values(&[0.0, -1.0], true, "0.5 1 2 5 10 20");
    }

    #[test]
    fn positions_are_tight_and_doublings_keep_their_numbers() {
        positions(&[1.0, 2.0, 3.0, 4.0], false, "0 1 2 3 4");
        positions(&[100.0, 120.0, 150.0], false, "100 110 120 130 140 150");
        positions(&[1.0, 2.0, 4.0, 8.0, 32.0, 128.0], true, "1 2 4 8 16 32 64 128");
        positions(&[4.0, 65_536.0], true, "4 16 64 256 1024 4096 16Ki 64Ki");
        positions(&[3.0], false, "0 1 2 3");
        positions(&[30.0, 45.0], true, "30 45");
        positions(&[1e3, 2e7], true, "1000 10k 100k 1M 10M");
    }

    #[test]
    fn places_run_from_zero_to_one() {
        let axis = Axis::of_values([1.0, 100.0].into_iter(), true);
        assert_eq!((axis.place(axis.low), axis.place(axis.high)), (0.0, 1.0));
        assert!((Axis::fixed(0.0, 4.0, false).place(1.0) - 0.25).abs() < 1e-12);
        assert!((axis.value(axis.place(7.0)) - 7.0).abs() < 1e-9);
    }
}
