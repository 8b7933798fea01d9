//! Bars that lie: names of any length to their left, values behind them.

use super::{Bars, VALUE_GAP, backed, bars_in_a_group, color, inner_text, stack, value_texts};
use crate::chart::axes;
use crate::chart::layout::{self, Plot, Swatch, text};
use crate::chart::picture::{Anchor, Picture};
use crate::chart::scale::Axis;
use crate::chart::{Chart, font, theme};

/// Thickness of a bar, and the room between groups.
const THICKNESS: f64 = 20.0;
const GROUP_GAP: f64 = 13.0;
/// Widest column of names.
const NAME_ROOM: f64 = 230.0;

/// Lays out a chart of lying bars.
pub fn draw(chart: &Chart, bars: &Bars, axis: &Axis, legend: &[(Swatch, String)]) -> Picture {
    let above = chart.labels.get("x").map_or("", String::as_str);
    let (mut picture, top) = layout::begin(chart, legend, above, theme::WIDTH);
    let wrapped = |key: &str| {
        let lines = font::wrap(chart.text(key), theme::BODY, false, NAME_ROOM);
        lines
            .iter()
            .map(|line| font::cut(line, theme::BODY, NAME_ROOM))
            .collect::<Vec<_>>()
    };
    let names: Vec<Vec<String>> = bars.groups.iter().map(|(key, _)| wrapped(key)).collect();
    let name_column = names
        .iter()
        .flatten()
        .map(|line| font::width(line, theme::BODY, false))
        .fold(0.0, f64::max);
    let widest = bars.groups.iter().flat_map(|(key, row)| value_texts(bars, row, key));
    let value_column = widest
        .map(|value| font::width(&value, theme::SMALL, false))
        .fold(0.0, f64::max);
    let thickness = if bars_in_a_group(bars) > 1 {
        THICKNESS - 4.0
    } else {
        THICKNESS
    };
    let height_of =
        |lines: &Vec<String>| (thickness * bars_in_a_group(bars) as f64).max(lines.len() as f64 * 15.0) + GROUP_GAP;
    let height: f64 = names.iter().map(height_of).sum();
    let plot = Plot {
        left: theme::MARGIN + name_column + 10.0,
        top,
        right: theme::WIDTH - theme::MARGIN - value_column - 2.0 * VALUE_GAP,
        bottom: top + height + GROUP_GAP / 2.0,
    };
    let at = |value: f64| plot.left + axis.place(value).clamp(0.0, 1.0) * (plot.right - plot.left);
    for (value, _) in &axis.ticks {
        picture.line(
            vec![(at(*value), plot.top), (at(*value), plot.bottom)],
            1.0,
            theme::GRID,
        );
    }
    let zero = if axis.log { plot.left } else { at(0.0) };
    let mut y = plot.top + GROUP_GAP / 2.0;
    let mut values = Vec::new();
    for ((key, row), lines) in bars.groups.iter().zip(&names) {
        let height = height_of(lines);
        let middle = y + height / 2.0;
        for (index, line) in lines.iter().enumerate() {
            let baseline = middle + 4.5 + (index as f64 - (lines.len() as f64 - 1.0) / 2.0) * 15.0;
            picture.text(text(
                plot.left - 9.0,
                baseline,
                line,
                theme::BODY,
                Anchor::End,
                theme::INK,
            ));
        }
        let texts = value_texts(bars, row, key);
        if bars.stacked {
            let (end, labels) = stack(row, |from, to, part| {
                let (from, to) = (at(from), at(to));
                picture.rect(
                    from.min(to),
                    middle - thickness / 2.0,
                    (to - from).abs(),
                    thickness,
                    theme::series(part),
                );
                inner_text(row[part], (to - from).abs(), thickness).map(|label| {
                    text(
                        (from + to) / 2.0,
                        middle + 4.0,
                        &label,
                        theme::SMALL,
                        Anchor::Middle,
                        theme::ink_on(theme::series(part)),
                    )
                })
            });
            labels.into_iter().for_each(|label| picture.text(label));
            values.push(text(
                at(end) + VALUE_GAP,
                middle + 4.0,
                &texts[0],
                theme::SMALL,
                Anchor::Start,
                theme::INK,
            ));
        } else {
            let first = middle - thickness * row.len() as f64 / 2.0;
            for (part, value) in row.iter().enumerate() {
                let bar_top = first + part as f64 * thickness;
                let end = value.map_or(zero, at);
                let gap = if row.len() > 1 { 1.0 } else { 0.0 };
                let width = if value.is_some_and(|value| value != 0.0) {
                    (end - zero).abs().max(1.0)
                } else {
                    0.0
                };
                picture.rect(
                    end.min(zero),
                    bar_top + gap,
                    width,
                    thickness - 2.0 * gap,
                    color(bars, key, part),
                );
                let baseline = bar_top + thickness / 2.0 + 4.0;
                values.push(text(
                    end.max(zero) + VALUE_GAP,
                    baseline,
                    &texts[part],
                    theme::SMALL,
                    Anchor::Start,
                    theme::INK,
                ));
            }
        }
        y += height;
    }
    picture.line(vec![(zero, plot.top), (zero, plot.bottom)], 1.0, theme::AXIS);
    for (_, value) in &bars.rules {
        layout::rule(&mut picture, (at(*value), plot.top), (at(*value), plot.bottom));
    }
    values.into_iter().for_each(|value| backed(&mut picture, value));
    let name = chart.labels.get("y").map_or("", String::as_str);
    let bottom = axes::position_axis(&mut picture, plot, axis, at, name);
    layout::finish(picture, bottom)
}
