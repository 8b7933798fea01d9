//! Charts of bars: plain, side by side, stacked. Bars lie, so that names of any length stand beside them.
//!
//! On a logarithmic axis the length of a bar means nothing, because the axis has no zero to begin at. There each value
//! is a marker on a thin line instead, and the eye compares positions.

use plotters::style::RGBColor;
use plotters::style::text_anchor::HPos;

use super::digits::value_text;
use super::scale::Axis;
use super::sheet::{self, Frame, Grid, Head, Line, Plot, Sheet, Swatch, text};
use super::{Bars, Chart, font, theme};
use crate::number::short;

/// Gap between a bar and its value.
const VALUE_GAP: f64 = 10.0;
/// Radius of a marker on a logarithmic axis.
const DOT: f64 = 9.0;
/// Gap between groups.
const GROUP_GAP: f64 = 26.0;
/// Most room that the names beside the bars take.
const NAME_ROOM: f64 = 460.0;
/// From line to line of a name.
const NAME_LINE: f64 = 30.0;

/// Draws a chart of bars.
pub fn draw(chart: &Chart, bars: &Bars) -> anyhow::Result<String> {
    let axis = value_axis(chart, bars);
    let above = &chart.axis_name("x");
    let below = &chart.axis_name("y");
    let head = Head::new(chart, &legend(chart, bars), above, theme::WIDTH);
    let thickness = if bars_in_a_group(bars) > 1 { 32.0 } else { 40.0 };
    let groups = groups(chart, bars, thickness);
    let length: f64 = groups.iter().map(|group| group.room).sum();
    let names = groups.iter().flat_map(|group| &group.name);
    let values = groups.iter().flat_map(|group| &group.values);
    let frame = Frame {
        left: theme::MARGIN + widest(names, theme::BODY) + 20.0,
        top: head.bottom,
        right: theme::WIDTH - theme::MARGIN - widest(values, theme::SMALL) - 2.0 * VALUE_GAP,
        bottom: head.bottom + length,
    };
    sheet::svg(chart, head, frame.bottom + sheet::room_below(frame, below), |sheet| {
        // Positions along the groups are pixels from the upper end.
        let plot = sheet.plot(frame, axis.clone(), Axis::plain(length, 0.0), Grid::X)?;
        let canvas = Canvas {
            bars,
            sheet,
            plot,
            axis: &axis,
            thickness,
        };
        let mut texts = Vec::new();
        let mut start = 0.0;
        for group in &groups {
            let middle = start + group.room / 2.0;
            canvas.name(frame, middle, &group.name)?;
            texts.extend(if bars.stacked {
                canvas.stack(middle, group)?
            } else {
                canvas.beside(middle, group)?
            });
            start += group.room;
        }
        let x = canvas.pixel(0.0, canvas.zero()).0;
        sheet.line(&[(x, frame.top), (x, frame.bottom)], 2, theme::AXIS)?;
        for (_, value) in &bars.rules {
            let x = canvas.pixel(0.0, *value).0;
            sheet.rule((x, frame.top), (x, frame.bottom))?;
        }
        texts.iter().try_for_each(|text| sheet.backed_text(text))?;
        sheet.axis_name(frame, below)
    })
}

/// One group of bars, or one stack.
struct Group<'a> {
    key: &'a str,
    row: &'a [Option<f64>],
    /// Its name, in lines.
    name: Vec<String>,
    /// The texts behind its bars.
    values: Vec<String>,
    /// Pixels that it takes along the groups.
    room: f64,
}

fn groups<'a>(chart: &'a Chart, bars: &'a Bars, thickness: f64) -> Vec<Group<'a>> {
    let group = |(key, row): &'a (String, Vec<Option<f64>>)| {
        let lines = font::wrap(chart.text(key), theme::BODY, false, NAME_ROOM);
        let name: Vec<String> = lines
            .iter()
            .map(|line| font::cut(line, theme::BODY, NAME_ROOM))
            .collect();
        let height = (thickness * bars_in_a_group(bars) as f64).max(name.len() as f64 * NAME_LINE);
        let values = value_texts(bars, row, key, words(chart));
        Group {
            key,
            row,
            name,
            values,
            room: height + GROUP_GAP,
        }
    };
    bars.groups.iter().map(group).collect()
}

fn widest<'a>(texts: impl Iterator<Item = &'a String>, size: f64) -> f64 {
    texts.map(|text| font::width(text, size, false)).fold(0.0, f64::max)
}

fn value_axis(chart: &Chart, bars: &Bars) -> Axis {
    if let Some((low, high)) = chart.y_range {
        return Axis::fixed(low, high, chart.log_y);
    }
    let mut ends: Vec<f64> = bars.rules.iter().map(|rule| rule.1).collect();
    for (_, row) in &bars.groups {
        let values = row.iter().flatten().copied();
        if bars.stacked {
            ends.push(values.clone().filter(|value| *value > 0.0).sum());
            ends.push(values.filter(|value| *value < 0.0).sum());
        } else {
            ends.extend(values);
        }
    }
    Axis::of_values(ends.into_iter(), chart.log_y)
}

fn legend(chart: &Chart, bars: &Bars) -> Vec<(Swatch, String)> {
    let is_needed = bars.parts.len() > 1 || bars.stacked;
    let parts = bars.parts.iter().enumerate().filter(|_| is_needed);
    let part = |(index, key): (usize, &String)| {
        let color = theme::series(index);
        let swatch = match chart.log_y {
            true => Swatch::Marker(color, theme::marker(index)),
            false => Swatch::Patch(color),
        };
        (swatch, chart.text(key).to_string())
    };
    let limit = |(key, value): &(String, f64)| (Swatch::Rule, format!("{} ({})", chart.text(key), short(*value)));
    parts.map(part).chain(bars.rules.iter().map(limit)).collect()
}

/// The texts behind the bars of one group: value, and ratio to the baseline where there is one. One for a stack.
fn value_texts(bars: &Bars, row: &[Option<f64>], key: &str, words: [&str; 2]) -> Vec<String> {
    let is_baseline = |key: &str| bars.baseline.as_deref() == Some(key);
    let group = bars.groups.iter().find(|(key, _)| is_baseline(key)).map(|(_, row)| row);
    if bars.stacked {
        let total = |row: &[Option<f64>]| row.iter().flatten().sum::<f64>();
        let reference = group.map(|row| total(row)).filter(|_| !is_baseline(key));
        return vec![with_ratio(bars, total(row), reference, words)];
    }
    let part_of_baseline = bars.parts.iter().position(|part| is_baseline(part));
    let told = row.iter().enumerate().map(|(part, value)| {
        // Bars are compared with a part of their own group, or with the same part of one group.
        let reference = match part_of_baseline {
            Some(at) => row[at].filter(|_| at != part),
            None => group.and_then(|row| row[part]).filter(|_| !is_baseline(key)),
        };
        value.map_or("no value".to_string(), |value| {
            with_ratio(bars, value, reference, words)
        })
    });
    told.collect()
}

/// A value, and what it is against the baseline: `3.18 (9.4 times slower)` where less is better, `3.18 (×0.11)` where
/// more is.
fn with_ratio(bars: &Bars, value: f64, reference: Option<f64>, [better, worse]: [&str; 2]) -> String {
    let shown = value_text(value);
    let Some(reference) = reference.filter(|reference| *reference != 0.0 && value != 0.0) else {
        return shown;
    };
    if !bars.less_is_better {
        return format!("{shown} (×{})", short(value / reference));
    }
    let (ratio, word) = if value < reference {
        (reference / value, better)
    } else {
        (value / reference, worse)
    };
    match short(ratio).as_str() {
        "1" => format!("{shown} (equal)"),
        ratio => format!("{shown} ({ratio} times {word})"),
    }
}

/// What a bar is called that has a smaller or a larger value than the baseline, where less is better.
fn words(chart: &Chart) -> [&'static str; 2] {
    const TIMES: [&str; 6] = ["s", "ms", "µs", "ns", "seconds", "minutes"];
    let mut unit = chart.text("y").split(|c: char| !c.is_alphabetic());
    match unit.any(|word| TIMES.contains(&word)) {
        true => ["faster", "slower"],
        false => ["less", "more"],
    }
}

fn bars_in_a_group(bars: &Bars) -> usize {
    if bars.stacked { 1 } else { bars.parts.len().max(1) }
}

/// A plot of bars that is being drawn. `along` is a position along the groups, `value` one on the axis of values.
struct Canvas<'c, 'a> {
    bars: &'c Bars,
    sheet: &'c Sheet<'a>,
    plot: Plot<'a>,
    axis: &'c Axis,
    thickness: f64,
}

impl Canvas<'_, '_> {
    fn pixel(&self, along: f64, value: f64) -> (f64, f64) {
        let value = value.max(self.axis.low).min(self.axis.high);
        let (x, y) = self.plot.backend_coord(&(value, along));
        (f64::from(x), f64::from(y))
    }

    /// The value at which bars begin.
    fn zero(&self) -> f64 {
        if self.axis.log { self.axis.low } else { 0.0 }
    }

    fn name(&self, frame: Frame, middle: f64, lines: &[String]) -> anyhow::Result<()> {
        let first = frame.top + middle + 9.0 - (lines.len() as f64 - 1.0) * NAME_LINE / 2.0;
        for (index, line) in lines.iter().enumerate() {
            let at = (frame.left - 18.0, first + index as f64 * NAME_LINE);
            self.sheet.text(&text(at, line, theme::BODY, HPos::Right, theme::INK))?;
        }
        Ok(())
    }

    /// Draws a bar from one value to another; returns where it begins and ends.
    fn bar(&self, (top, bottom): (f64, f64), from: f64, to: f64, color: RGBColor) -> anyhow::Result<(f64, f64)> {
        let ((start, top), (mut end, bottom)) = (self.pixel(top, from), self.pixel(bottom, to));
        // A value that is not zero shows at least as a line.
        if (end - start).abs() < 2.0 {
            end = start + 2.0;
        }
        self.sheet.rect((start, top), (end, bottom), color)?;
        Ok((start, end))
    }

    /// Draws a marker at a value, on a thin line across the plot.
    fn dot(&self, along: f64, value: f64, part: usize, color: RGBColor) -> anyhow::Result<()> {
        let [start, at, end] = [self.axis.low, value, self.axis.high].map(|value| self.pixel(along, value));
        self.sheet.line(&[start, end], 1, theme::GRID)?;
        self.sheet.marker(at, DOT, theme::marker(part), color)
    }

    /// The text of a bar's value, behind the bar.
    fn value(&self, along: f64, value: f64, words: &str) -> Line {
        let (x, y) = self.pixel(along, value);
        let radius = if self.axis.log { DOT } else { 0.0 };
        let at = (x.max(self.pixel(along, self.zero()).0) + radius + VALUE_GAP, y + 8.0);
        text(at, words, theme::SMALL, HPos::Left, theme::INK)
    }

    /// Draws the bars of a group side by side; returns the texts of their values.
    fn beside(&self, middle: f64, group: &Group<'_>) -> anyhow::Result<Vec<Line>> {
        let first = middle - self.thickness * group.row.len() as f64 / 2.0;
        let gap = if group.row.len() > 1 { 2.0 } else { 0.0 };
        // Plain bars share one colour, and the one that they are compared with is grey.
        let is_baseline = self.bars.parts.len() == 1 && self.bars.baseline.as_deref() == Some(group.key);
        let mut texts = Vec::new();
        for (part, (value, words)) in group.row.iter().zip(&group.values).enumerate() {
            let top = first + part as f64 * self.thickness;
            let color = if is_baseline {
                theme::BASELINE
            } else {
                theme::series(part)
            };
            if let Some(value) = value.filter(|value| *value > 0.0 && self.axis.log) {
                self.dot(top + self.thickness / 2.0, value, part, color)?;
            } else if let Some(value) = value.filter(|value| *value != 0.0) {
                self.bar((top + gap, top + self.thickness - gap), self.zero(), value, color)?;
            }
            texts.push(self.value(top + self.thickness / 2.0, value.unwrap_or(self.zero()), words));
        }
        Ok(texts)
    }

    /// Draws a group as one bar made of parts, positive and negative ones apart; returns the text of its value.
    fn stack(&self, middle: f64, group: &Group<'_>) -> anyhow::Result<Vec<Line>> {
        let (mut up, mut down) = (0.0, 0.0);
        let edges = (middle - self.thickness / 2.0, middle + self.thickness / 2.0);
        for (part, value) in group.row.iter().enumerate() {
            let Some(value) = *value else { continue };
            let end = if value < 0.0 { &mut down } else { &mut up };
            let from = *end;
            *end += value;
            let color = theme::series(part);
            let (left, right) = self.bar(edges, from, *end, color)?;
            // The value of a part stands inside it, where it fits.
            let words = short(value);
            if font::width(&words, theme::SMALL, false) + 12.0 <= (right - left).abs() {
                let at = ((left + right) / 2.0, self.pixel(middle, from).1 + 8.0);
                let ink = theme::ink_on(color);
                self.sheet.text(&text(at, &words, theme::SMALL, HPos::Center, ink))?;
            }
        }
        Ok(vec![self.value(middle, up, &group.values[0])])
    }
}
