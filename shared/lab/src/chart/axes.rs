//! The two axes of a plot.

use super::layout::{Plot, text};
use super::picture::{Anchor, Picture};
use super::scale::Axis;
use super::{font, theme};

/// The axis of values on the left: grid lines and ticks.
pub fn value_axis(picture: &mut Picture, plot: Plot, axis: &Axis) {
    for (value, label) in &axis.ticks {
        let y = plot.bottom - axis.place(*value) * (plot.bottom - plot.top);
        let color = if *value == 0.0 && !axis.log {
            theme::AXIS
        } else {
            theme::GRID
        };
        picture.line(vec![(plot.left, y), (plot.right, y)], 1.0, color);
        picture.text(text(
            plot.left - 7.0,
            y + 4.0,
            label,
            theme::SMALL,
            Anchor::End,
            theme::SOFT_INK,
        ));
    }
}

/// Room that the ticks of a left axis take.
pub fn tick_column(axis: &Axis) -> f64 {
    axis.ticks
        .iter()
        .map(|(_, label)| font::width(label, theme::SMALL, false))
        .fold(0.0, f64::max)
        + 10.0
}

/// The axis below: ticks at `place(value)`, as many of them as do not touch, and the axis's name in the middle. Returns the
/// height below it.
pub fn position_axis(picture: &mut Picture, plot: Plot, axis: &Axis, place: impl Fn(f64) -> f64, name: &str) -> f64 {
    let widest = axis
        .ticks
        .iter()
        .map(|(_, label)| font::width(label, theme::SMALL, false))
        .fold(0.0, f64::max);
    let closest = axis
        .ticks
        .windows(2)
        .map(|pair| (place(pair[1].0) - place(pair[0].0)).abs())
        .fold(f64::INFINITY, f64::min);
    let stride = ((widest + 10.0) / closest).ceil().max(1.0) as usize;
    for (value, label) in axis.ticks.iter().step_by(stride) {
        let x = place(*value);
        picture.line(vec![(x, plot.bottom), (x, plot.bottom + 5.0)], 1.0, theme::AXIS);
        picture.text(text(
            x,
            plot.bottom + 18.0,
            label,
            theme::SMALL,
            Anchor::Middle,
            theme::SOFT_INK,
        ));
    }
    let mut y = plot.bottom + 20.0;
    for line in font::wrap(name, theme::BODY, false, plot.right - plot.left + 60.0) {
        y += theme::LINE + 2.0;
        picture.text(text(
            (plot.left + plot.right) / 2.0,
            y,
            &line,
            theme::BODY,
            Anchor::Middle,
            theme::SOFT_INK,
        ));
    }
    y
}
