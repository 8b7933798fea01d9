//! What all charts have in common: the card, its title, the legend and its swatches.

use super::picture::{Anchor, Color, Marker, Picture, Shape, Text};
use super::{Chart, font, theme};

/// How a name is tied to what it names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Swatch {
    /// A line with its marker (none where there are too many points for markers).
    Line(Color, Option<Marker>),
    /// A line of dashes.
    Dashes(Color),
    /// A dotted limit.
    Rule,
    /// A marker alone.
    Marker(Color, Marker),
    /// A filled patch.
    Patch(Color),
}

/// Width of a swatch and the gap behind it.
pub const SWATCH: f64 = 22.0;
pub const SWATCH_GAP: f64 = 7.0;

/// The room inside a chart where data goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plot {
    /// Left end.
    pub left: f64,
    /// Upper end.
    pub top: f64,
    /// Right end.
    pub right: f64,
    /// Lower end.
    pub bottom: f64,
}

/// A body text.
pub fn text(x: f64, y: f64, text: &str, size: f64, anchor: Anchor, color: Color) -> Text {
    Text {
        x,
        y,
        text: text.to_string(),
        size,
        bold: false,
        anchor,
        color,
    }
}

/// Begins a picture: title, note, a row of swatches where `legend` has any, and `above`, the name of the axis of values.
/// `width` is that of the card. Returns the picture with the height at which data may begin; [`finish`] sets its own.
pub fn begin(chart: &Chart, legend: &[(Swatch, String)], above: &str, width: f64) -> (Picture, f64) {
    let title = chart.text("title").to_string();
    let mut picture = Picture {
        width,
        height: 0.0,
        title: title.clone(),
        shapes: Vec::new(),
    };
    let room = width - 2.0 * theme::MARGIN;
    let mut y = theme::MARGIN + 14.0;
    for line in font::wrap(&title, theme::TITLE, true, room) {
        picture.text(Text {
            bold: true,
            ..text(theme::MARGIN, y, &line, theme::TITLE, Anchor::Start, theme::INK)
        });
        y += 22.0;
    }
    let notes = ["note", "compared"].map(|key| chart.labels.get(key).map(String::as_str));
    let note = notes.into_iter().flatten().collect::<Vec<_>>().join("; ");
    for line in font::wrap(&note, theme::BODY, false, room) {
        picture.text(text(
            theme::MARGIN,
            y - 2.0,
            &line,
            theme::BODY,
            Anchor::Start,
            theme::SOFT_INK,
        ));
        y += theme::LINE;
    }
    if !legend.is_empty() {
        y = legend_row(&mut picture, legend, y + 6.0);
    }
    if !above.is_empty() {
        y += 8.0;
        for line in font::wrap(above, theme::BODY, false, room) {
            picture.text(text(
                theme::MARGIN,
                y,
                &line,
                theme::BODY,
                Anchor::Start,
                theme::SOFT_INK,
            ));
            y += theme::LINE;
        }
    }
    (picture, y + 2.0)
}

/// Ends a picture: its height, and the card below everything.
pub fn finish(mut picture: Picture, bottom: f64) -> Picture {
    picture.height = (bottom + theme::MARGIN).ceil();
    let (width, height) = (picture.width, picture.height);
    let card = [
        Shape::Rect {
            x: 0.0,
            y: 0.0,
            width,
            height,
            fill: theme::BORDER,
        },
        Shape::Rect {
            x: 1.0,
            y: 1.0,
            width: width - 2.0,
            height: height - 2.0,
            fill: theme::CARD,
        },
    ];
    picture.shapes.splice(0..0, card);
    picture
}

/// Swatches with names, side by side, in as many rows as they need. Returns the height below them.
fn legend_row(picture: &mut Picture, legend: &[(Swatch, String)], top: f64) -> f64 {
    let end = picture.width - theme::MARGIN;
    let (mut x, mut y) = (theme::MARGIN, top);
    for (mark, name) in legend {
        let name = font::cut(name, theme::BODY, end - theme::MARGIN - SWATCH - SWATCH_GAP);
        let width = SWATCH + SWATCH_GAP + font::width(&name, theme::BODY, false);
        if x > theme::MARGIN && x + width > end {
            (x, y) = (theme::MARGIN, y + theme::LINE + 3.0);
        }
        swatch(picture, *mark, x, y - 4.0);
        picture.text(text(
            x + SWATCH + SWATCH_GAP,
            y,
            &name,
            theme::BODY,
            Anchor::Start,
            theme::INK,
        ));
        x += width + 20.0;
    }
    y + theme::LINE + 2.0
}

/// Draws a swatch that begins at `x`, its middle at `y`.
pub fn swatch(picture: &mut Picture, mark: Swatch, x: f64, y: f64) {
    let line = vec![(x, y), (x + SWATCH, y)];
    let dot = |at, marker, color| Shape::Dot {
        at,
        radius: 4.0,
        marker,
        color,
    };
    match mark {
        Swatch::Line(color, marker) => {
            picture.line(line, 2.5, color);
            picture
                .shapes
                .extend(marker.map(|marker| dot((x + SWATCH / 2.0, y), marker, color)));
        }
        Swatch::Dashes(color) => picture.dashes(&line, 2.0, color, 5.0, 3.5),
        Swatch::Marker(color, marker) => picture.shapes.push(dot((x + SWATCH / 2.0, y), marker, color)),
        Swatch::Rule => rule(picture, (x, y), (x + SWATCH, y)),
        Swatch::Patch(color) => picture.rect(x, y - 6.0, SWATCH, 12.0, color),
    }
}

/// Draws a dotted limit from one end to the other.
pub fn rule(picture: &mut Picture, from: (f64, f64), to: (f64, f64)) {
    picture.dashes(&[from, to], 1.5, theme::SOFT_INK, 2.0, 3.0);
}
