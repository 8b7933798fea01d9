//! Charts: a spec that is plain data, drawn as SVG in one theme.
//!
//! A chart names its unit and its baseline, starts at zero unless it is logarithmic, and is readable on a dark page and
//! on a light one. Every text has a key (`title`, `x`, `y`, `series.naive`) in the JSON.

mod bars;
mod build;
mod compare;
mod digits;
mod field;
pub mod font;
mod lines;
mod names;
mod scale;
mod sheet;
mod theme;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A chart, as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Stable name, which is also the file name.
    pub id: String,
    /// Every text of the chart, by key.
    pub labels: BTreeMap<String, String>,
    /// Logarithmic horizontal axis.
    pub log_x: bool,
    /// Logarithmic axis of values.
    pub log_y: bool,
    /// Fixed range of the axis of values.
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

/// Lines and limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lines {
    /// The lines.
    pub series: Vec<Series>,
    /// Horizontal limits: key and height.
    pub rules: Vec<(String, f64)>,
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
    /// Key of the line's name.
    pub key: String,
    /// How the line is drawn.
    pub stroke: Stroke,
    /// Points of the line, by ascending x.
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
    /// Whether a smaller value is the better one. The ratio to the baseline is then baseline over value.
    pub less_is_better: bool,
    /// Limits across all bars: key and value.
    pub rules: Vec<(String, f64)>,
}

/// A coloured plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Left and right end of the plane.
    pub x_range: (f64, f64),
    /// Lower and upper end of the plane.
    pub y_range: (f64, f64),
    /// Number of cells across.
    pub columns: usize,
    /// Number of cells upward.
    pub rows: usize,
    /// `[rows, columns]`, lowest row first; 0 is the first colour, 1 the second, 0.5 the border between them.
    pub values: Vec<f32>,
    /// Points: key of their class and (x, y).
    pub points: Vec<(String, Vec<(f64, f64)>)>,
    /// The key of the colours: a name and the value that it stands for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shades: Vec<(String, f32)>,
}

impl Chart {
    /// The text of a key; the key itself if there is none.
    pub fn text<'a>(&'a self, key: &'a str) -> &'a str {
        self.labels.get(key).map_or(key, String::as_str)
    }

    /// The name of an axis; it says where the axis is logarithmic.
    fn axis_name(&self, key: &str) -> String {
        let name = self.labels.get(key).map_or("", String::as_str);
        let is_log = if key == "x" { self.log_x } else { self.log_y };
        match name {
            _ if !is_log || name.contains("logarithm") => name.to_string(),
            "" => "log scale".to_string(),
            _ => format!("{name}; log scale"),
        }
    }

    /// The chart as an SVG document: the same bytes for the same data, on every machine.
    pub fn to_svg(&self) -> anyhow::Result<String> {
        match &self.body {
            Body::Lines(body) => lines::draw(self, body),
            Body::Bars(body) => bars::draw(self, body),
            Body::Field(body) => field::draw(self, body),
        }
    }

    /// Reads a chart's data back from `ID.chart.json`.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        use anyhow::Context;
        let shown = crate::paths::shown(path);
        let text = std::fs::read_to_string(path).with_context(|| format!("{shown}: can not be read"))?;
        serde_json::from_str(&text).with_context(|| format!("{shown}: not the data of a chart"))
    }

    /// Writes `ID.svg` and `ID.chart.json` into `folder` (created if needed); returns the path of the SVG.
    pub fn write(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        let path = folder.join(format!("{}.svg", self.id));
        crate::record::replace_file(&path, self.to_svg()?.as_bytes())?;
        let spec = serde_json::to_string(self)? + "\n";
        crate::record::replace_file(&folder.join(format!("{}.chart.json", self.id)), spec.as_bytes())?;
        Ok(path)
    }
}
