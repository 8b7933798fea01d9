//! Charts of bars: plain, side by side, stacked; upright where every name and value fits, lying where not.

mod lying;
mod upright;

use super::digits::value_text;
use super::layout::Swatch;
use super::picture::{Color, Picture, Text};
use super::scale::Axis;
use super::{Bars, Chart, font, theme};
use crate::number::short;

/// Gap between a bar and its value.
const VALUE_GAP: f64 = 5.0;

/// Lays out a chart of bars.
pub fn draw(chart: &Chart, bars: &Bars) -> Picture {
    let axis = value_axis(chart, bars);
    let legend = legend(chart, bars);
    if stands_upright(chart, bars) {
        upright::draw(chart, bars, &axis, &legend)
    } else {
        lying::draw(chart, bars, &axis, &legend)
    }
}

fn value_axis(chart: &Chart, bars: &Bars) -> Axis {
    if let Some((low, high)) = chart.y_range {
        return Axis::fixed(low, high, chart.log_y);
    }
    let rows = bars.groups.iter().map(|(_, row)| row);
    let limits = bars.rules.iter().map(|rule| rule.1);
    let ends: Vec<f64> = if bars.stacked {
        rows.flat_map(|row| {
            let total = |keep: fn(f64) -> bool| row.iter().flatten().copied().filter(|value| keep(*value)).sum::<f64>();
            [total(|value| value > 0.0), total(|value| value < 0.0)]
        })
        .chain(limits)
        .collect()
    } else {
        rows.flat_map(|row| row.iter().flatten().copied())
            .chain(limits)
            .collect()
    };
    Axis::of_values(ends.iter().copied(), chart.log_y)
}

fn legend(chart: &Chart, bars: &Bars) -> Vec<(Swatch, String)> {
    let parts = bars
        .parts
        .iter()
        .enumerate()
        .filter(|_| bars.parts.len() > 1 || bars.stacked);
    let parts = parts.map(|(index, key)| (Swatch::Patch(theme::series(index)), chart.text(key).to_string()));
    let rules = bars
        .rules
        .iter()
        .map(|(key, value)| (Swatch::Rule, format!("{} ({})", chart.text(key), short(*value))));
    parts.chain(rules).collect()
}

/// The texts behind the bars of one group: value, and ratio to the baseline where there is one. One for a stack.
fn value_texts(bars: &Bars, row: &[Option<f64>], key: &str) -> Vec<String> {
    if bars.stacked {
        return vec![with_ratio(
            bars,
            row.iter().flatten().sum(),
            stack_baseline(bars),
            bars.baseline.as_deref() == Some(key),
        )];
    }
    let baseline_part = bars
        .baseline
        .as_ref()
        .and_then(|name| bars.parts.iter().position(|part| part == name));
    let told = row.iter().enumerate().map(|(part, value)| match value {
        None => "no value".to_string(),
        Some(value) => {
            let is_baseline = bars.baseline.as_deref() == Some(key) || baseline_part == Some(part);
            let reference = match baseline_part {
                Some(at) => row.get(at).copied().flatten(),
                None => group(bars, bars.baseline.as_deref()).and_then(|row| row.get(part).copied().flatten()),
            };
            with_ratio(bars, *value, reference, is_baseline)
        }
    });
    told.collect()
}

fn with_ratio(bars: &Bars, value: f64, reference: Option<f64>, is_baseline: bool) -> String {
    let shown = value_text(value);
    match reference {
        Some(reference) if !is_baseline && reference != 0.0 && value != 0.0 => {
            let ratio = if bars.less_is_better {
                reference / value
            } else {
                value / reference
            };
            format!("{shown} (×{})", short(ratio))
        }
        _ => shown,
    }
}

fn group<'a>(bars: &'a Bars, key: Option<&str>) -> Option<&'a Vec<Option<f64>>> {
    bars.groups
        .iter()
        .find(|(name, _)| Some(name.as_str()) == key)
        .map(|(_, row)| row)
}

fn stack_baseline(bars: &Bars) -> Option<f64> {
    group(bars, bars.baseline.as_deref()).map(|row| row.iter().flatten().sum())
}

/// Colour of a bar: by part, but plain bars share one colour, and the one they are compared with is grey.
fn color(bars: &Bars, key: &str, part: usize) -> Color {
    match bars.baseline.as_deref() {
        Some(baseline) if !bars.stacked && bars.parts.len() == 1 && baseline == key => theme::BASELINE,
        _ => theme::series(part),
    }
}

fn bars_in_a_group(bars: &Bars) -> usize {
    if bars.stacked { 1 } else { bars.parts.len() }
}

/// Room for one group of an upright chart.
fn slot(bars: &Bars) -> f64 {
    (theme::WIDTH - 2.0 * theme::MARGIN - 60.0) / bars.groups.len().max(1) as f64
}

fn upright_thickness(bars: &Bars) -> f64 {
    (slot(bars) * 0.72 / bars_in_a_group(bars).max(1) as f64).min(64.0)
}

/// Whether every name fits below its group in two lines and every value above its bar.
fn stands_upright(chart: &Chart, bars: &Bars) -> bool {
    let (slot, thickness) = (slot(bars), upright_thickness(bars));
    let room = if bars_in_a_group(bars) == 1 { slot } else { thickness };
    bars.groups.iter().all(|(key, row)| {
        let name = font::wrap(chart.text(key), theme::BODY, false, slot - 10.0);
        let name_fits = name.len() <= 2
            && name
                .iter()
                .all(|line| font::width(line, theme::BODY, false) <= slot - 10.0);
        name_fits
            && value_texts(bars, row, key)
                .iter()
                .all(|value| font::width(value, theme::SMALL, false) <= room - 4.0)
    })
}

/// Walks the parts of a stack from zero outwards, positive ones one way and negative ones the other. Returns its upper end
/// and the labels that the parts gave.
fn stack<L>(row: &[Option<f64>], mut part: impl FnMut(f64, f64, usize) -> Option<L>) -> (f64, Vec<L>) {
    let (mut up, mut down) = (0.0, 0.0);
    let mut labels = Vec::new();
    for (index, value) in row.iter().enumerate() {
        let Some(value) = *value else { continue };
        let end = if value < 0.0 { &mut down } else { &mut up };
        let from = *end;
        *end += value;
        labels.extend(part(from, *end, index));
    }
    (up, labels)
}

/// The value of a part, where it fits inside it.
fn inner_text(value: Option<f64>, width: f64, height: f64) -> Option<String> {
    let label = short(value?);
    (font::width(&label, theme::SMALL, false) + 6.0 <= width && height >= 14.0).then_some(label)
}

/// A value with a patch of the card behind it, so that grid lines and limits do not cross it.
fn backed(picture: &mut Picture, value: Text) {
    let (left, top, right, bottom) = value.bounds();
    picture.rect(left - 2.0, top, right - left + 4.0, bottom - top, theme::CARD);
    picture.text(value);
}
