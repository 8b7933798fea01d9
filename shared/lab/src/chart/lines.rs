//! Charts of lines: measured lines with markers, predicted ones in dashes, limits, shaded ranges.

use super::axes;
use super::clip::clipped;
use super::layout::{self, Plot, Swatch};
use super::names::{self, Name};
use super::picture::{Anchor, Marker, Picture, Shape};
use super::scale::Axis;
use super::{Chart, Lines, Series, Stroke, theme};

/// Height of the plot, unless the names beside it need more.
const HEIGHT: f64 = 330.0;
/// A line of more points than this has no markers: they would hide it.
const MOST_MARKERS: usize = 40;
/// Air between the ends of the plot and the first and last point.
const AIR: f64 = 9.0;

/// Lays out a chart of lines.
pub fn draw(chart: &Chart, lines: &Lines) -> Picture {
    let shown = |point: &(f64, f64)| is_shown(chart, *point);
    let points = || {
        lines
            .series
            .iter()
            .flat_map(|series| series.points.iter().copied())
            .filter(shown)
    };
    let bands = || lines.bands.iter().flat_map(|band| band.range.iter().copied());
    let x_axis = Axis::of_positions(points().map(|p| p.0).chain(bands().map(|b| b.0)), chart.log_x);
    let y_axis = match chart.y_range {
        Some((low, high)) => Axis::fixed(low, high, chart.log_y),
        None => {
            let limits = lines.rules.iter().map(|rule| rule.1);
            let edges = bands().flat_map(|b| [b.1, b.2]);
            Axis::of_values(points().map(|p| p.1).chain(limits).chain(edges), chart.log_y)
        }
    };
    let keys = lines
        .series
        .iter()
        .map(|s| &s.key)
        .chain(lines.rules.iter().map(|r| &r.0))
        .chain(lines.bands.iter().map(|b| &b.key));
    let texts: Vec<String> = keys.map(|key| chart.text(key).to_string()).collect();

    let above = chart.labels.get("y").map_or("", String::as_str);
    let (mut picture, top) = layout::begin(chart, &[], above, theme::WIDTH);
    let height = HEIGHT.max(names::names_height(&texts));
    let plot = Plot {
        left: theme::MARGIN + axes::tick_column(&y_axis),
        top: top + 4.0,
        right: theme::WIDTH - theme::MARGIN - names::name_column(&texts),
        bottom: top + 4.0 + height,
    };
    let at_x = |x: f64| plot.left + AIR + x_axis.place(x) * (plot.right - plot.left - 2.0 * AIR);
    let at_y = |y: f64| plot.bottom - y_axis.place(y) * height;
    let at = |(x, y): (f64, f64)| (at_x(x), at_y(y));

    axes::value_axis(&mut picture, plot, &y_axis);
    if chart.log_x && chart.log_y {
        for (value, _) in &x_axis.ticks {
            picture.line(
                vec![(at_x(*value), plot.top), (at_x(*value), plot.bottom)],
                1.0,
                theme::GRID,
            );
        }
    }
    picture.line(
        vec![(plot.left, plot.bottom), (plot.right, plot.bottom)],
        1.0,
        theme::AXIS,
    );
    let x_name = chart.labels.get("x").map_or("", String::as_str);
    let bottom = axes::position_axis(&mut picture, plot, &x_axis, at_x, x_name);

    let mut column = Vec::new();
    for (index, band) in lines.bands.iter().enumerate() {
        let color = theme::series(lines.series.len() + index);
        let visible = band
            .range
            .iter()
            .filter(|(x, low, high)| is_shown(chart, (*x, *low)) && is_shown(chart, (*x, *high)));
        let upper = visible
            .clone()
            .map(|(x, _, high)| at((*x, y_axis.low.max(*high).min(y_axis.high))));
        let lower = visible
            .rev()
            .map(|(x, low, _)| at((*x, y_axis.low.max(*low).min(y_axis.high))));
        let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
        let wanted = band
            .range
            .last()
            .map_or(plot.bottom, |(_, low, high)| at_y((low + high) / 2.0));
        column.push(Name::new(
            chart.text(&band.key),
            Swatch::Patch(color.over(theme::CARD, 0.3)),
            wanted,
            None,
        ));
        picture.shapes.push(Shape::Area {
            points: outline,
            color,
            opacity: 0.22,
        });
    }
    for (key, value) in &lines.rules {
        if !(y_axis.low..=y_axis.high).contains(value) {
            continue;
        }
        let y = at_y(*value);
        layout::rule(&mut picture, (plot.left, y), (plot.right, y));
        column.push(Name::new(chart.text(key), Swatch::Rule, y, Some((plot.right + 2.0, y))));
    }
    for (index, series) in lines.series.iter().enumerate() {
        let visible: Vec<(f64, f64)> = series.points.iter().copied().filter(shown).map(at).collect();
        let swatch = draw_series(&mut picture, plot, series, &visible, index);
        let end = visible
            .last()
            .copied()
            .map(|(x, y)| (x, y.clamp(plot.top, plot.bottom)));
        let reaches_edge = end.filter(|end| end.0 > plot.right - AIR - 12.0 && series.stroke != Stroke::Points);
        let reaches_edge = reaches_edge.map(|(x, y)| (x + 7.0, y));
        let wanted = end.map_or(plot.bottom, |end| end.1);
        column.push(Name::new(chart.text(&series.key), swatch, wanted, reaches_edge));
    }
    if points().next().is_none() {
        let (x, y) = ((plot.left + plot.right) / 2.0, (plot.top + plot.bottom) / 2.0);
        picture.text(layout::text(
            x,
            y,
            "no data",
            theme::BODY,
            Anchor::Middle,
            theme::SOFT_INK,
        ));
    }
    names::draw_names(&mut picture, plot, column);
    layout::finish(picture, bottom)
}

fn is_shown(chart: &Chart, (x, y): (f64, f64)) -> bool {
    x.is_finite() && y.is_finite() && (!chart.log_x || x > 0.0) && (!chart.log_y || y > 0.0)
}

/// Draws one series and returns its swatch.
fn draw_series(picture: &mut Picture, plot: Plot, series: &Series, points: &[(f64, f64)], index: usize) -> Swatch {
    let (color, marker) = (theme::series(index), theme::marker(index));
    match series.stroke {
        Stroke::Dashed => {
            for piece in clipped(points, plot) {
                picture.dashes(&piece, 2.0, color, 7.0, 4.5);
            }
            Swatch::Dashes(color)
        }
        Stroke::Points => {
            let radius = if points.len() > 200 { 2.2 } else { 3.6 };
            dots(picture, plot, points, radius, marker, index);
            Swatch::Marker(color, marker)
        }
        Stroke::Solid => {
            for piece in clipped(points, plot) {
                picture.line(piece, 2.2, color);
            }
            let has_markers = points.len() <= MOST_MARKERS;
            if has_markers {
                dots(picture, plot, points, 4.0, marker, index);
            }
            Swatch::Line(color, has_markers.then_some(marker))
        }
    }
}

fn dots(picture: &mut Picture, plot: Plot, points: &[(f64, f64)], radius: f64, marker: Marker, index: usize) {
    let inside = points
        .iter()
        .filter(|point| (plot.top - 0.5..=plot.bottom + 0.5).contains(&point.1));
    picture.shapes.extend(inside.map(|&at| Shape::Dot {
        at,
        radius,
        marker,
        color: theme::series(index),
    }));
}
