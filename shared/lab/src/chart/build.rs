//! Building a chart: its labels, axes, lines and points.

use std::collections::BTreeMap;

use crate::race::RaceResult;

use super::{Bars, Body, Chart, Field, Lines, Series, Stroke};

impl Chart {
    fn new(id: &str, title: &str, body: Body) -> Self {
        let chart = Self {
            id: id.into(),
            labels: BTreeMap::new(),
            log_x: false,
            log_y: false,
            y_range: None,
            body,
        };
        chart.label("title", title)
    }

    /// Lines over a number.
    pub fn lines(id: &str, title: &str) -> Self {
        Self::new(id, title, Body::Lines(Lines::default()))
    }

    /// Bars with names.
    pub fn bars(id: &str, title: &str) -> Self {
        Self::new(id, title, Body::Bars(Bars::default()))
    }

    /// A plane coloured by a value: `values` `[rows, columns]`, lowest row first, between 0 and 1.
    ///
    /// # Panics
    /// If there are not rows x columns values.
    #[track_caller]
    pub fn field(
        id: &str,
        title: &str,
        x_range: (f64, f64),
        y_range: (f64, f64),
        columns: usize,
        values: Vec<f32>,
    ) -> Self {
        assert!(
            columns > 0 && values.len().is_multiple_of(columns),
            "values fill whole rows"
        );
        let rows = values.len() / columns;
        // Steps of a thousandth are finer than the shades. JSON has no NaN: it becomes a value between the classes.
        let values = values
            .iter()
            .map(|v| if v.is_nan() { 0.5 } else { (v * 1000.0).round() / 1000.0 })
            .collect();
        Self::new(
            id,
            title,
            Body::Field(Field {
                x_range,
                y_range,
                columns,
                rows,
                values,
                points: Vec::new(),
                shades: Vec::new(),
            }),
        )
    }

    /// Name and unit of the horizontal axis.
    pub fn x_label(self, text: &str) -> Self {
        self.label("x", text)
    }

    /// Name and unit of the axis of values: the vertical one, or the one along the bars.
    pub fn y_label(self, text: &str) -> Self {
        self.label("y", text)
    }

    /// A line under the title: the workload, the machine, what was held constant.
    pub fn note(self, text: &str) -> Self {
        self.label("note", text)
    }

    /// A logarithmic horizontal axis. Points at or below zero are left out.
    pub fn log_x(mut self) -> Self {
        self.log_x = true;
        self
    }

    /// A logarithmic axis of values. Values at or below zero are left out.
    pub fn log_y(mut self) -> Self {
        self.log_y = true;
        self
    }

    /// A fixed range of the axis of values, instead of zero to a little above the largest.
    pub fn y_range(mut self, low: f64, high: f64) -> Self {
        self.y_range = Some((low, high));
        self
    }

    /// A measured line, with a marker at each point.
    #[track_caller]
    pub fn series(self, name: &str, points: Vec<(f64, f64)>) -> Self {
        self.push_series(name, Stroke::Solid, points)
    }

    /// The medians of these entries of a race, in the order of `names`: a line each, over their `x`.
    #[track_caller]
    pub fn race(self, race: &RaceResult, names: &[&str]) -> Self {
        names
            .iter()
            .fold(self, |chart, name| chart.series(name, race.line(name)))
    }

    /// A predicted or counted line: dashes.
    #[track_caller]
    pub fn dashed(self, name: &str, points: Vec<(f64, f64)>) -> Self {
        self.push_series(name, Stroke::Dashed, points)
    }

    /// Points without a line; in a field, the points of one class.
    #[track_caller]
    pub fn points(mut self, name: &str, points: Vec<(f64, f64)>) -> Self {
        if let Body::Field(_) = self.body {
            let key = self.key("series", name);
            if let Body::Field(field) = &mut self.body {
                field
                    .points
                    .push((key, points.into_iter().filter(is_finite).map(rounded).collect()));
            }
            return self;
        }
        self.push_series(name, Stroke::Points, points)
    }

    /// An entry in the key of a field's colours: what the colour of `value` means.
    #[track_caller]
    pub fn shade(mut self, name: &str, value: f32) -> Self {
        let key = self.key("shade", name);
        match &mut self.body {
            Body::Field(field) => field.shades.push((key, value)),
            _ => panic!("only a field has shades"),
        }
        self
    }

    /// A horizontal limit: a bound, a peak, a baseline.
    #[track_caller]
    pub fn rule(mut self, name: &str, value: f64) -> Self {
        let key = self.key("rule", name);
        match &mut self.body {
            Body::Lines(lines) => lines.rules.push((key, value)),
            Body::Bars(bars) => bars.rules.push((key, value)),
            Body::Field(_) => panic!("a field has no limits"),
        }
        self
    }

    #[track_caller]
    fn push_series(mut self, name: &str, stroke: Stroke, points: Vec<(f64, f64)>) -> Self {
        let key = self.key("series", name);
        match &mut self.body {
            Body::Lines(lines) => lines.series.push(Series {
                key,
                stroke,
                points: points.into_iter().filter(is_finite).map(rounded).collect(),
            }),
            _ => panic!("only a chart of lines takes series"),
        }
        self
    }

    pub(super) fn label(mut self, key: &str, text: &str) -> Self {
        self.labels.insert(key.into(), text.into());
        self
    }

    /// The key of a name, entered among the labels.
    pub(super) fn key(&mut self, kind: &str, name: &str) -> String {
        let key = format!("{kind}.{name}");
        self.labels.insert(key.clone(), name.into());
        key
    }
}

/// Seven digits: more than a picture shows, and a file of a chart's data stays small.
fn rounded((x, y): (f64, f64)) -> (f64, f64) {
    let short = |value: f64| format!("{value:.6e}").parse().unwrap_or(value);
    (short(x), short(y))
}

/// Whether a point can be drawn, and written as JSON.
fn is_finite((x, y): &(f64, f64)) -> bool {
    x.is_finite() && y.is_finite()
}
