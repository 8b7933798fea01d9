//! Charts: a spec that is plain data, drawn as SVG and PNG in one theme.
//!
//! A chart names its unit and its baseline, starts at zero unless it is logarithmic, and is readable on a dark page and
//! on a light one. Every text has a key (`title`, `x`, `y`, `series.naive`), so that a chart can be drawn again in another
//! language from its JSON.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A chart, as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Stable name: also the file name.
    pub id: String,
    /// Every text of the chart, by key.
    pub labels: BTreeMap<String, String>,
    /// Logarithmic horizontal axis.
    pub log_x: bool,
    /// Logarithmic vertical axis (of horizontal bars: the axis of values).
    pub log_y: bool,
    /// Fixed range of the vertical axis, where the lesson asks for one.
    pub y_range: Option<(f64, f64)>,
    /// What is drawn.
    pub body: Body,
}

/// What a chart draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// Lines over a number.
    Lines(Lines),
    /// Bars over names.
    Bars(Bars),
    /// A plane that is coloured by a value, with points on it.
    Field(Field),
}

/// Lines, limits and bands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lines {
    /// The lines.
    pub series: Vec<Series>,
    /// Horizontal limits: key and height.
    pub rules: Vec<(String, f64)>,
    /// Shaded ranges.
    pub bands: Vec<Band>,
}

/// A shaded range around or between lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Key of its name.
    pub key: String,
    /// (x, low, high), by ascending x.
    pub range: Vec<(f64, f64, f64)>,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stroke {
    /// Measured: a line with a marker at each point.
    Solid,
    /// Predicted or counted: dashes, no markers.
    Dashed,
    /// Points only.
    Points,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Key of its name.
    pub key: String,
    /// How it is drawn.
    pub stroke: Stroke,
    /// Its points, by ascending x.
    pub points: Vec<(f64, f64)>,
}

/// Bars. One part for each group: plain bars. Several: side by side, or stacked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bars {
    /// Keys of the parts, in drawing order.
    pub parts: Vec<String>,
    /// Groups: key and one value for each part (`None`: missing).
    pub groups: Vec<(String, Vec<Option<f64>>)>,
    /// Parts on top of each other instead of side by side.
    pub stacked: bool,
    /// Key of the group (or part) that the others are compared with.
    pub baseline: Option<String>,
    /// Limits across all bars: key and value.
    pub rules: Vec<(String, f64)>,
}

/// A coloured plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Left and right end.
    pub x_range: (f64, f64),
    /// Lower and upper end.
    pub y_range: (f64, f64),
    /// Cells across.
    pub columns: usize,
    /// Cells upward.
    pub rows: usize,
    /// `[rows, columns]`, lowest row first; 0 is the first colour, 1 the second, 0.5 the border between them.
    pub values: Vec<f32>,
    /// Points: key of their class and (x, y).
    pub points: Vec<(String, Vec<(f64, f64)>)>,
}

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

    /// Bars over names; horizontal where the names are long.
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
            }),
        )
    }

    /// Name and unit of the horizontal axis.
    pub fn x_label(self, text: &str) -> Self {
        self.label("x", text)
    }

    /// Name and unit of the axis of values (vertical; along the bars where they are horizontal).
    pub fn y_label(self, text: &str) -> Self {
        self.label("y", text)
    }

    /// A line under the title: the baseline, the machine, what was held constant.
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
                field.points.push((key, points));
            }
            return self;
        }
        self.push_series(name, Stroke::Points, points)
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

    /// A shaded range: (x, low, high).
    #[track_caller]
    pub fn band(mut self, name: &str, range: Vec<(f64, f64, f64)>) -> Self {
        let key = self.key("band", name);
        match &mut self.body {
            Body::Lines(lines) => lines.bands.push(Band { key, range }),
            _ => panic!("only lines have bands"),
        }
        self
    }

    /// One bar.
    #[track_caller]
    pub fn bar(self, name: &str, value: f64) -> Self {
        self.push_group(name, &[("value", value)], false)
    }

    /// Bars side by side under one name: (series, value).
    #[track_caller]
    pub fn group(self, name: &str, values: &[(&str, f64)]) -> Self {
        self.push_group(name, values, false)
    }

    /// One bar made of parts: (part, value).
    #[track_caller]
    pub fn stack(self, name: &str, parts: &[(&str, f64)]) -> Self {
        self.push_group(name, parts, true)
    }

    /// The bar that the others are compared with: its ratio is written beside each of them.
    #[track_caller]
    pub fn baseline(mut self, name: &str) -> Self {
        let key = self.key("group", name);
        match &mut self.body {
            Body::Bars(bars) => bars.baseline = Some(key),
            _ => panic!("only bars have a baseline; use rule"),
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
                points,
            }),
            _ => panic!("only a chart of lines takes series"),
        }
        self
    }

    #[track_caller]
    fn push_group(mut self, name: &str, values: &[(&str, f64)], stacked: bool) -> Self {
        let group = self.key("group", name);
        let keys: Vec<String> = values
            .iter()
            .map(|(part, _)| self.key("part", part))
            .collect();
        let Body::Bars(bars) = &mut self.body else {
            panic!("only a chart of bars takes bars")
        };
        bars.stacked = stacked;
        for key in &keys {
            if !bars.parts.contains(key) {
                bars.parts.push(key.clone());
                bars.groups.iter_mut().for_each(|(_, row)| row.push(None));
            }
        }
        let value_of = |part: &String| {
            keys.iter()
                .position(|key| key == part)
                .map(|at| values[at].1)
        };
        let row = bars.parts.iter().map(value_of).collect();
        bars.groups.push((group, row));
        self
    }

    fn label(mut self, key: &str, text: &str) -> Self {
        self.labels.insert(key.into(), text.into());
        self
    }

    /// The key of a name, entered among the labels.
    fn key(&mut self, kind: &str, name: &str) -> String {
        let key = format!("{kind}.{name}");
        self.labels.insert(key.clone(), name.into());
        key
    }

    /// The text of a key; the key itself if there is none.
    pub fn text<'a>(&'a self, key: &'a str) -> &'a str {
        self.labels.get(key).map_or(key, String::as_str)
    }

    /// The chart as an SVG document.
    pub fn to_svg(&self) -> String {
        String::new()
    }

    /// Writes `ID.svg`, `ID.png` and `ID.chart.json` into `folder` (created if needed); returns the path of the SVG.
    pub fn write(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        self.write_png(folder)?;
        self.write_svg(folder)
    }

    /// Writes `ID.svg` and `ID.chart.json` into `folder`; returns the path of the SVG.
    pub fn write_svg(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        let path = folder.join(format!("{}.svg", self.id));
        crate::record::replace_file(&path, self.to_svg().as_bytes())?;
        let spec = serde_json::to_string_pretty(self)? + "\n";
        crate::record::replace_file(
            &folder.join(format!("{}.chart.json", self.id)),
            spec.as_bytes(),
        )?;
        Ok(path)
    }

    /// Writes `ID.png` into `folder`; returns its path.
    pub fn write_png(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        Ok(folder.join(format!("{}.png", self.id)))
    }
}
