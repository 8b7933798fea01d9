//! Bars that stand: names below, values above.

use super::{Bars, VALUE_GAP, backed, color, inner_text, stack, upright_thickness, value_texts};
use crate::chart::axes;
use crate::chart::layout::{self, Plot, Swatch, text};
use crate::chart::picture::{Anchor, Picture};
use crate::chart::scale::Axis;
use crate::chart::{Chart, font, theme};

/// Height of the plot.
const HEIGHT: f64 = 300.0;

/// Lays out a chart of standing bars.
pub fn draw(chart: &Chart, bars: &Bars, axis: &Axis, legend: &[(Swatch, String)]) -> Picture {
    let above = chart.labels.get("y").map_or("", String::as_str);
    let (mut picture, top) = layout::begin(chart, legend, above, theme::WIDTH);
    let left = theme::MARGIN + axes::tick_column(axis);
    let plot = Plot {
        left,
        top: top + 14.0,
        right: theme::WIDTH - theme::MARGIN,
        bottom: top + 14.0 + HEIGHT,
    };
    axes::value_axis(&mut picture, plot, axis);
    let at = |value: f64| plot.bottom - axis.place(value).clamp(0.0, 1.0) * HEIGHT;
    let zero = if axis.log { plot.bottom } else { at(0.0) };
    let slot = (plot.right - plot.left) / bars.groups.len().max(1) as f64;
    let thickness = upright_thickness(bars).min(slot * 0.8);
    // Room for the values of bars that hang.
    let hangs = bars
        .groups
        .iter()
        .any(|(_, row)| row.iter().flatten().any(|value| *value < 0.0));
    let below = if hangs { 12.0 } else { 0.0 };
    let mut values = Vec::new();
    for (index, (key, row)) in bars.groups.iter().enumerate() {
        let middle = plot.left + slot * (index as f64 + 0.5);
        let texts = value_texts(bars, row, key);
        if bars.stacked {
            let x = middle - thickness / 2.0;
            let (end, labels) = stack(row, |from, to, part| {
                let (from, to) = (at(from), at(to));
                picture.rect(x, from.min(to), thickness, (from - to).abs(), theme::series(part));
                inner_text(row[part], thickness, (from - to).abs()).map(|label| {
                    text(
                        middle,
                        (from + to) / 2.0 + 4.0,
                        &label,
                        theme::SMALL,
                        Anchor::Middle,
                        theme::ink_on(theme::series(part)),
                    )
                })
            });
            labels.into_iter().for_each(|label| picture.text(label));
            values.push(text(
                middle,
                at(end) - VALUE_GAP,
                &texts[0],
                theme::SMALL,
                Anchor::Middle,
                theme::INK,
            ));
        } else {
            let first = middle - thickness * row.len() as f64 / 2.0;
            for (part, value) in row.iter().enumerate() {
                let x = first + part as f64 * thickness;
                let end = value.map_or(zero, at);
                let gap = if row.len() > 1 { 1.0 } else { 0.0 };
                let height = if value.is_some_and(|value| value != 0.0) {
                    (zero - end).abs().max(1.0)
                } else {
                    0.0
                };
                let hangs = end > zero;
                let bar_top = if hangs { zero } else { zero - height };
                picture.rect(x + gap, bar_top, thickness - 2.0 * gap, height, color(bars, key, part));
                let y = if hangs { end + 14.0 } else { end - VALUE_GAP };
                values.push(text(
                    x + thickness / 2.0,
                    y,
                    &texts[part],
                    theme::SMALL,
                    Anchor::Middle,
                    theme::INK,
                ));
            }
        }
        for (line_index, line) in font::wrap(chart.text(key), theme::BODY, false, slot - 10.0)
            .iter()
            .enumerate()
        {
            let y = plot.bottom + below + 19.0 + line_index as f64 * theme::LINE;
            picture.text(text(middle, y, line, theme::BODY, Anchor::Middle, theme::INK));
        }
    }
    picture.line(vec![(plot.left, zero), (plot.right, zero)], 1.0, theme::AXIS);
    for (_, value) in &bars.rules {
        layout::rule(&mut picture, (plot.left, at(*value)), (plot.right, at(*value)));
    }
    values.into_iter().for_each(|value| backed(&mut picture, value));
    let two_lines = bars
        .groups
        .iter()
        .any(|(key, _)| font::wrap(chart.text(key), theme::BODY, false, slot - 10.0).len() > 1);
    let mut bottom = plot.bottom + below + if two_lines { 34.0 } else { 20.0 };
    if let Some(name) = chart.labels.get("x") {
        bottom += 22.0;
        picture.text(text(
            (plot.left + plot.right) / 2.0,
            bottom,
            name,
            theme::BODY,
            Anchor::Middle,
            theme::SOFT_INK,
        ));
    }
    layout::finish(picture, bottom)
}
