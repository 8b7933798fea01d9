//! Charts of bars: plain, side by side, stacked; upright where every name and value fits, lying where not.

use plotters::style::RGBColor;
use plotters::style::text_anchor::HPos;

use super::digits::value_text;
use super::scale::Axis;
use super::sheet::{self, Frame, Grid, Head, Line, Plot, Sheet, Swatch, text};
use super::{Bars, Chart, font, theme};
use crate::number::short;

/// Gap between a bar and its value.
const VALUE_GAP: f64 = 10.0;
/// Height of the plot where bars stand.
const HEIGHT: f64 = 600.0;
/// Gap between groups that lie.
const GROUP_GAP: f64 = 26.0;
/// Most room that the names beside lying bars take.
const NAME_ROOM: f64 = 460.0;

/// Draws a chart of bars.
pub fn draw(chart: &Chart, bars: &Bars) -> anyhow::Result<String> {
    let axis = value_axis(chart, bars);
    let label = |key: &str| chart.labels.get(key).map_or("", String::as_str);
    let is_upright = stands_upright(chart, bars);
    let (above, below) = if is_upright {
        (label("y"), label("x"))
    } else {
        (label("x"), label("y"))
    };
    let head = Head::new(chart, &legend(chart, bars), above, theme::WIDTH);
    let layout = if is_upright {
        Layout::upright(chart, bars, &axis, head.bottom)
    } else {
        Layout::lying(chart, bars, head.bottom)
    };
    let names_below = layout.names_below();
    let bottom = layout.frame.bottom + names_below + sheet::room_below(layout.frame, below);
    sheet::svg(chart, head, bottom, |sheet| {
        let length = layout.slots.iter().sum::<f64>();
        let plot = if is_upright {
            sheet.plot(layout.frame, Axis::plain(0.0, length), axis.clone(), Grid::Y)?
        } else {
            sheet.plot(layout.frame, axis.clone(), Axis::plain(length, 0.0), Grid::X)?
        };
        let canvas = Canvas {
            bars,
            sheet,
            plot,
            axis: &axis,
            layout: &layout,
        };
        let mut values = Vec::new();
        for (index, (key, row)) in bars.groups.iter().enumerate() {
            canvas.name(index)?;
            values.extend(if bars.stacked {
                canvas.stack(index, key, row)?
            } else {
                canvas.beside(index, key, row)?
            });
        }
        canvas.across(canvas.zero(), |from, to| sheet.line(&[from, to], 2, theme::AXIS))?;
        for (_, value) in &bars.rules {
            canvas.across(*value, |from, to| sheet.rule(from, to))?;
        }
        for value in &values {
            sheet.backed_text(value)?;
        }
        sheet.axis_name(
            Frame {
                bottom: layout.frame.bottom + names_below,
                ..layout.frame
            },
            below,
        )
    })
}

fn value_axis(chart: &Chart, bars: &Bars) -> Axis {
    if let Some((low, high)) = chart.y_range {
        return Axis::fixed(low, high, chart.log_y);
    }
    let rows = bars.groups.iter().map(|(_, row)| row.iter().flatten().copied());
    let ends: Vec<f64> = match bars.stacked {
        true => rows
            .flat_map(|row| [row.clone().filter(|v| *v > 0.0).sum(), row.filter(|v| *v < 0.0).sum()])
            .collect(),
        false => rows.flatten().collect(),
    };
    Axis::of_values(
        ends.into_iter().chain(bars.rules.iter().map(|rule| rule.1)),
        chart.log_y,
    )
}

fn legend(chart: &Chart, bars: &Bars) -> Vec<(Swatch, String)> {
    let parts = bars
        .parts
        .iter()
        .enumerate()
        .filter(|_| bars.parts.len() > 1 || bars.stacked);
    let parts = parts.map(|(index, key)| (Swatch::Patch(theme::series(index)), chart.text(key).to_string()));
    let limit = |(key, value): &(String, f64)| (Swatch::Rule, format!("{} ({})", chart.text(key), short(*value)));
    parts.chain(bars.rules.iter().map(limit)).collect()
}

/// The texts behind the bars of one group: value, and ratio to the baseline where there is one. One for a stack.
fn value_texts(bars: &Bars, row: &[Option<f64>], key: &str) -> Vec<String> {
    let baseline = bars.baseline.as_deref();
    let of_group = bars
        .groups
        .iter()
        .find(|(name, _)| Some(name.as_str()) == baseline)
        .map(|(_, row)| row);
    if bars.stacked {
        let total = |row: &[Option<f64>]| row.iter().flatten().sum::<f64>();
        return vec![with_ratio(
            bars,
            total(row),
            of_group.map(|row| total(row)),
            baseline == Some(key),
        )];
    }
    let part_of_baseline = bars.parts.iter().position(|part| Some(part.as_str()) == baseline);
    let told = row.iter().enumerate().map(|(part, value)| match value {
        None => "no value".to_string(),
        Some(value) => {
            let reference = match part_of_baseline {
                Some(at) => row.get(at).copied().flatten(),
                None => of_group.and_then(|row| row.get(part).copied().flatten()),
            };
            with_ratio(
                bars,
                *value,
                reference,
                baseline == Some(key) || part_of_baseline == Some(part),
            )
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

fn bars_in_a_group(bars: &Bars) -> usize {
    if bars.stacked { 1 } else { bars.parts.len().max(1) }
}

/// Room for one group of an upright chart, before the ticks are known.
fn upright_slot(bars: &Bars) -> f64 {
    (theme::WIDTH - 2.0 * theme::MARGIN - 120.0) / bars.groups.len().max(1) as f64
}

fn upright_thickness(bars: &Bars) -> f64 {
    (upright_slot(bars) * 0.72 / bars_in_a_group(bars) as f64).min(128.0)
}

/// Whether every name fits below its group in two lines and every value above its bar.
fn stands_upright(chart: &Chart, bars: &Bars) -> bool {
    let slot = upright_slot(bars);
    let room = if bars_in_a_group(bars) == 1 {
        slot
    } else {
        upright_thickness(bars)
    };
    bars.groups.iter().all(|(key, row)| {
        let name = font::wrap(chart.text(key), theme::BODY, false, slot - 20.0);
        let fits = |line: &String| font::width(line, theme::BODY, false) <= slot - 20.0;
        let value_fits = |value: &String| font::width(value, theme::SMALL, false) <= room - 8.0;
        name.len() <= 2 && name.iter().all(fits) && value_texts(bars, row, key).iter().all(value_fits)
    })
}

/// Where the groups stand. Positions along them are pixels from the first.
struct Layout {
    is_upright: bool,
    frame: Frame,
    /// Room of each group.
    slots: Vec<f64>,
    thickness: f64,
    /// Lines of each group's name.
    names: Vec<Vec<String>>,
    /// Room between upright bars and their names, for the values of bars that hang.
    hanging: f64,
}

impl Layout {
    fn upright(chart: &Chart, bars: &Bars, axis: &Axis, top: f64) -> Self {
        let frame = Frame {
            left: theme::MARGIN + axis.widest_tick() + 20.0,
            top: top + 28.0,
            right: theme::WIDTH - theme::MARGIN,
            bottom: top + 28.0 + HEIGHT,
        };
        let slot = (frame.right - frame.left) / bars.groups.len().max(1) as f64;
        let wrapped = |key: &str| font::wrap(chart.text(key), theme::BODY, false, slot - 20.0);
        let hangs = bars
            .groups
            .iter()
            .flat_map(|(_, row)| row)
            .flatten()
            .any(|value| *value < 0.0);
        Self {
            is_upright: true,
            frame,
            slots: vec![slot; bars.groups.len()],
            thickness: upright_thickness(bars).min(slot * 0.8),
            names: bars.groups.iter().map(|(key, _)| wrapped(key)).collect(),
            hanging: if hangs { 24.0 } else { 0.0 },
        }
    }

    fn lying(chart: &Chart, bars: &Bars, top: f64) -> Self {
        let wrapped = |key: &str| {
            let lines = font::wrap(chart.text(key), theme::BODY, false, NAME_ROOM);
            lines
                .iter()
                .map(|line| font::cut(line, theme::BODY, NAME_ROOM))
                .collect::<Vec<_>>()
        };
        let names: Vec<Vec<String>> = bars.groups.iter().map(|(key, _)| wrapped(key)).collect();
        let widest = |texts: Vec<String>, size| {
            texts
                .iter()
                .map(|text| font::width(text, size, false))
                .fold(0.0, f64::max)
        };
        let values = bars
            .groups
            .iter()
            .flat_map(|(key, row)| value_texts(bars, row, key))
            .collect();
        let thickness = if bars_in_a_group(bars) > 1 { 32.0 } else { 40.0 };
        let slot =
            |lines: &Vec<String>| (thickness * bars_in_a_group(bars) as f64).max(lines.len() as f64 * 30.0) + GROUP_GAP;
        let slots: Vec<f64> = names.iter().map(slot).collect();
        let frame = Frame {
            left: theme::MARGIN + widest(names.concat(), theme::BODY) + 20.0,
            top,
            right: theme::WIDTH - theme::MARGIN - widest(values, theme::SMALL) - 2.0 * VALUE_GAP,
            bottom: top + slots.iter().sum::<f64>(),
        };
        Self {
            is_upright: false,
            frame,
            slots,
            thickness,
            names,
            hanging: 0.0,
        }
    }

    /// Room that the names of groups take below the frame, above the name of the axis. Ticks take that room where bars lie.
    fn names_below(&self) -> f64 {
        let lines = self.names.iter().map(Vec::len).max().unwrap_or(0).max(1);
        if self.is_upright {
            self.hanging + (lines as f64 - 1.0) * theme::LINE
        } else {
            0.0
        }
    }

    /// Middle of a group, along the groups.
    fn middle(&self, index: usize) -> f64 {
        self.slots[..index].iter().sum::<f64>() + self.slots[index] / 2.0
    }
}

/// A plot of bars that is being drawn. `along` is a position along the groups, `value` one on the axis of values.
struct Canvas<'c, 'a> {
    bars: &'c Bars,
    sheet: &'c Sheet<'a>,
    plot: Plot<'a>,
    axis: &'c Axis,
    layout: &'c Layout,
}

impl Canvas<'_, '_> {
    fn pixel(&self, along: f64, value: f64) -> (f64, f64) {
        let value = value.max(self.axis.low).min(self.axis.high);
        let point = if self.layout.is_upright {
            (along, value)
        } else {
            (value, along)
        };
        let (x, y) = self.plot.backend_coord(&point);
        (f64::from(x), f64::from(y))
    }

    /// The value on which bars stand.
    fn zero(&self) -> f64 {
        if self.axis.log { self.axis.low } else { 0.0 }
    }

    /// Draws something across all groups at a value.
    fn across<R>(&self, value: f64, draw: impl FnOnce((f64, f64), (f64, f64)) -> R) -> R {
        let at = self.pixel(0.0, value);
        let Frame {
            left,
            top,
            right,
            bottom,
        } = self.layout.frame;
        if self.layout.is_upright {
            draw((left, at.1), (right, at.1))
        } else {
            draw((at.0, top), (at.0, bottom))
        }
    }

    fn name(&self, index: usize) -> anyhow::Result<()> {
        let Layout {
            frame, names, hanging, ..
        } = self.layout;
        let at = self.pixel(self.layout.middle(index), self.zero());
        let lines = &names[index];
        for (line_index, line) in lines.iter().enumerate() {
            let line_index = line_index as f64;
            let (at, anchor) = if self.layout.is_upright {
                (
                    (at.0, frame.bottom + hanging + 38.0 + line_index * theme::LINE),
                    HPos::Center,
                )
            } else {
                let first = at.1 + 9.0 - (lines.len() as f64 - 1.0) * 15.0;
                ((frame.left - 18.0, first + line_index * 30.0), HPos::Right)
            };
            self.sheet.text(&text(at, line, theme::BODY, anchor, theme::INK))?;
        }
        Ok(())
    }

    /// Draws a bar between two values; returns its length in pixels.
    fn bar(&self, (from, to): (f64, f64), (low, high): (f64, f64), color: RGBColor) -> anyhow::Result<f64> {
        let (start, mut end) = (self.pixel(from, low), self.pixel(to, high));
        let length = if self.layout.is_upright {
            start.1 - end.1
        } else {
            end.0 - start.0
        }
        .abs();
        // A value that is not zero shows at least as a line.
        if length < 2.0 {
            end = if self.layout.is_upright {
                (end.0, start.1 - 2.0)
            } else {
                (start.0 + 2.0, end.1)
            };
        }
        self.sheet.rect(start, end, color)?;
        Ok(length)
    }

    /// The text of a bar's value, at the end of the bar.
    fn value(&self, along: f64, value: f64, words: &str) -> Line {
        let (x, y) = self.pixel(along, value);
        let zero = self.pixel(along, self.zero());
        let (at, anchor) = match self.layout.is_upright {
            true if y > zero.1 => ((x, y + 28.0), HPos::Center),
            true => ((x, y - VALUE_GAP), HPos::Center),
            false => ((x.max(zero.0) + VALUE_GAP, y + 8.0), HPos::Left),
        };
        text(at, words, theme::SMALL, anchor, theme::INK)
    }

    /// Draws the bars of a group side by side; returns the texts of their values.
    fn beside(&self, index: usize, key: &str, row: &[Option<f64>]) -> anyhow::Result<Vec<Line>> {
        let thickness = self.layout.thickness;
        let first = self.layout.middle(index) - thickness * row.len() as f64 / 2.0;
        let gap = if row.len() > 1 { 2.0 } else { 0.0 };
        let mut values = Vec::new();
        for (part, (value, words)) in row.iter().zip(value_texts(self.bars, row, key)).enumerate() {
            let from = first + part as f64 * thickness;
            // Plain bars share one colour, and the one that they are compared with is grey.
            let is_baseline = self.bars.parts.len() == 1 && self.bars.baseline.as_deref() == Some(key);
            let color = if is_baseline {
                theme::BASELINE
            } else {
                theme::series(part)
            };
            if let Some(value) = value.filter(|value| *value != 0.0) {
                self.bar((from + gap, from + thickness - gap), (self.zero(), value), color)?;
            }
            values.push(self.value(from + thickness / 2.0, value.unwrap_or(self.zero()), &words));
        }
        Ok(values)
    }

    /// Draws a group as one bar made of parts, from zero outwards, positive and negative parts apart; returns the text of
    /// its value.
    fn stack(&self, index: usize, key: &str, row: &[Option<f64>]) -> anyhow::Result<Vec<Line>> {
        let thickness = self.layout.thickness;
        let middle = self.layout.middle(index);
        let (mut up, mut down) = (0.0, 0.0);
        for (part, value) in row.iter().enumerate() {
            let Some(value) = *value else { continue };
            let end = if value < 0.0 { &mut down } else { &mut up };
            let from = *end;
            *end += value;
            let to = *end;
            let length = self.bar(
                (middle - thickness / 2.0, middle + thickness / 2.0),
                (from, to),
                theme::series(part),
            )?;
            // The value of a part stands inside it, where it fits.
            let words = short(value);
            let (width, height) = if self.layout.is_upright {
                (thickness, length)
            } else {
                (length, thickness)
            };
            if font::width(&words, theme::SMALL, false) + 12.0 <= width && height >= 28.0 {
                let (from, to) = (self.pixel(middle, from), self.pixel(middle, to));
                let at = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0 + 8.0);
                self.sheet.text(&text(
                    at,
                    &words,
                    theme::SMALL,
                    HPos::Center,
                    theme::ink_on(theme::series(part)),
                ))?;
            }
        }
        Ok(vec![self.value(middle, up, &value_texts(self.bars, row, key)[0])])
    }
}
