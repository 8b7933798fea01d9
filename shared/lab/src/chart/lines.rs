//! Charts of lines: measured lines with markers, predicted ones in dashes, limits.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::names::{self, Name};
use super::scale::Axis;
use super::sheet::{self, Frame, Grid, Head, Plot, Sheet, Swatch};
use super::{Chart, Lines, Series, Stroke, theme};

/// Height of the plot, unless the names beside it need more.
const HEIGHT: f64 = 660.0;
/// A line of more points than this has no markers: they would hide it.
const MOST_MARKERS: usize = 40;
/// Pixels between the ends of the plot and the first and last point.
const AIR: f64 = 18.0;

/// Draws a chart of lines.
pub fn draw(chart: &Chart, lines: &Lines) -> anyhow::Result<String> {
    let (x_axis, y_axis) = axes(chart, lines);
    let keys = lines.series.iter().map(|series| &series.key);
    let keys = keys.chain(lines.rules.iter().map(|rule| &rule.0));
    let texts: Vec<String> = keys.map(|key| chart.text(key).to_string()).collect();
    let head = Head::new(chart, &[], &chart.axis_name("y"), theme::WIDTH);
    let top = head.bottom + 8.0;
    let frame = Frame {
        left: theme::MARGIN + y_axis.widest_tick() + 20.0,
        top,
        right: theme::WIDTH - theme::MARGIN - names::name_column(&texts),
        bottom: top + HEIGHT.max(names::names_height(&texts)),
    };
    let x_name = &chart.axis_name("x");
    let bottom = frame.bottom + sheet::room_below(frame, x_name);
    sheet::svg(chart, head, bottom, |sheet| {
        let is_double_log = chart.log_x && chart.log_y;
        let grid = if is_double_log { Grid::Both } else { Grid::Y };
        let plot = sheet.plot(frame, x_axis.clone(), y_axis.clone(), grid)?;
        let mut data = Data {
            chart,
            sheet,
            frame,
            plot,
            x_axis,
            y_axis,
        };
        if data.y_axis.low < 0.0 && !data.y_axis.log {
            let zero = data.pixel((0.0, 0.0)).1;
            sheet.line(&[(frame.left, zero), (frame.right, zero)], 2, theme::AXIS)?;
        }
        let mut column = data.rules(lines)?;
        for (index, series) in lines.series.iter().enumerate() {
            column.push(data.series(series, index)?);
        }
        if lines.series.iter().all(|series| data.shown(series).is_empty()) {
            let middle = ((frame.left + frame.right) / 2.0, (frame.top + frame.bottom) / 2.0);
            let words = sheet::text(middle, "no data", theme::BODY, HPos::Center, theme::SOFT_INK);
            sheet.text(&words)?;
        }
        names::draw_names(sheet, frame, column)?;
        sheet.axis_name(frame, x_name)
    })
}

/// The axes that show all that is drawn.
fn axes(chart: &Chart, lines: &Lines) -> (Axis, Axis) {
    let points = || {
        let points = lines.series.iter().flat_map(|series| series.points.iter().copied());
        points.filter(|point| is_shown(chart, *point))
    };
    let x_axis = Axis::of_positions(points().map(|point| point.0), chart.log_x);
    let limits = lines.rules.iter().map(|rule| rule.1);
    let y_axis = match chart.y_range {
        Some((low, high)) => Axis::fixed(low, high, chart.log_y),
        None => Axis::of_values(points().map(|point| point.1).chain(limits), chart.log_y),
    };
    (Axis { air: AIR, ..x_axis }, y_axis)
}

fn is_shown(chart: &Chart, (x, y): (f64, f64)) -> bool {
    x.is_finite() && y.is_finite() && (!chart.log_x || x > 0.0) && (!chart.log_y || y > 0.0)
}

/// The plot of a chart, ready for its data. Each part gives its name for the column beside the plot.
struct Data<'c, 's, 'a> {
    chart: &'c Chart,
    sheet: &'s Sheet<'a>,
    frame: Frame,
    plot: Plot<'a>,
    x_axis: Axis,
    y_axis: Axis,
}

impl Data<'_, '_, '_> {
    fn pixel(&self, point: (f64, f64)) -> (f64, f64) {
        let (x, y) = self.plot.backend_coord(&point);
        (f64::from(x), f64::from(y))
    }

    fn rules(&self, lines: &Lines) -> anyhow::Result<Vec<Name>> {
        let mut names = Vec::new();
        let Frame { left, right, .. } = self.frame;
        let range = self.y_axis.low..=self.y_axis.high;
        for (key, value) in lines.rules.iter().filter(|rule| range.contains(&rule.1)) {
            let y = self.pixel((1.0, *value)).1;
            self.sheet.rule((left, y), (right, y))?;
            let from = Some((right + 4.0, y));
            names.push(Name::new(self.chart.text(key), Swatch::Rule, y, from));
        }
        Ok(names)
    }

    /// The points of a series that the axes can show.
    fn shown(&self, series: &Series) -> Vec<(f64, f64)> {
        let points = series.points.iter().copied();
        points.filter(|point| is_shown(self.chart, *point)).collect()
    }

    fn series(&mut self, series: &Series, index: usize) -> anyhow::Result<Name> {
        let (color, marker) = (theme::series(index), theme::marker(index));
        let points = self.shown(series);
        let pieces = inside(&points, &self.x_axis, &self.y_axis);
        let style = color.stroke_width(4);
        let swatch = match series.stroke {
            Stroke::Dashed => {
                for piece in pieces {
                    self.plot.draw_series(DashedLineSeries::new(piece, 14, 9, style))?;
                }
                Swatch::Dashes(color)
            }
            Stroke::Points => {
                let radius = if points.len() > 200 { 4.0 } else { 7.0 };
                self.markers(&points, radius, index)?;
                Swatch::Marker(color, marker)
            }
            Stroke::Solid => {
                for piece in pieces {
                    self.plot.draw_series(LineSeries::new(piece, style))?;
                }
                let has_markers = points.len() <= MOST_MARKERS;
                if has_markers {
                    self.markers(&points, 8.0, index)?;
                }
                Swatch::Line(color, has_markers.then_some(marker))
            }
        };
        let Frame { top, right, bottom, .. } = self.frame;
        let end = points.last().map(|last| self.pixel(*last));
        let end = end.map(|(x, y)| (x, y.clamp(top, bottom)));
        // A hair line leads to the name from a line that ends at the edge.
        let at_edge = end.filter(|end| end.0 > right - AIR - 24.0 && series.stroke != Stroke::Points);
        let from = at_edge.map(|(x, y)| (x + 14.0, y));
        let wanted = end.map_or(bottom, |end| end.1);
        Ok(Name::new(self.chart.text(&series.key), swatch, wanted, from))
    }

    fn markers(&self, points: &[(f64, f64)], radius: f64, index: usize) -> anyhow::Result<()> {
        let (marker, color) = (theme::marker(index), theme::series(index));
        let is_inside = |point: &&(f64, f64)| (-1e-3..=1.001).contains(&self.y_axis.place(point.1));
        let mut visible = points.iter().filter(is_inside);
        visible.try_for_each(|point| self.sheet.marker(self.pixel(*point), radius, marker, color))
    }
}

/// The pieces of a line that lie within the axis of values (a fixed range may be smaller than the data). plotters would
/// draw the rest over the texts around the plot.
fn inside(points: &[(f64, f64)], x_axis: &Axis, y_axis: &Axis) -> Vec<Vec<(f64, f64)>> {
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    for pair in points.windows(2) {
        let places = [pair[0], pair[1]].map(|(x, y)| (x_axis.place(x), y_axis.place(y)));
        let [from, to] = places;
        if from.1.max(to.1) < 0.0 || from.1.min(to.1) > 1.0 {
            continue;
        }
        let cut = |end: usize| {
            let height = places[end].1.clamp(0.0, 1.0);
            if height == places[end].1 {
                return pair[end];
            }
            let share = (height - from.1) / (to.1 - from.1);
            (x_axis.value(from.0 + (to.0 - from.0) * share), y_axis.value(height))
        };
        let (start, end) = (cut(0), cut(1));
        match pieces.last_mut() {
            Some(piece) if piece.last() == Some(&start) => piece.push(end),
            _ => pieces.push(vec![start, end]),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_leaves_the_range_is_cut_at_its_edge() {
        let (x, y) = (Axis::plain(0.0, 100.0), Axis::plain(10.0, 20.0));
        let pieces = inside(&[(0.0, 15.0), (10.0, 25.0), (20.0, 15.0), (30.0, 0.0)], &x, &y);
        let round = |(x, y): (f64, f64)| ((x * 100.0).round() / 100.0, y.round());
        let pieces: Vec<Vec<_>> = pieces
            .into_iter()
            .map(|piece| piece.into_iter().map(round).collect())
            .collect();
        assert_eq!(
            pieces,
            [
                vec![(0.0, 15.0), (5.0, 20.0)],
                vec![(15.0, 20.0), (20.0, 15.0), (23.33, 10.0)]
            ]
        );
    }
}
