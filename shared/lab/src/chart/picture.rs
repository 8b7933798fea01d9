//! A picture: what a chart becomes before it is an SVG or a PNG. Shapes in layout units, drawn in order.
//!
//! The charts lay themselves out in these units (800 across) and never see a backend, so that a test can ask of any chart
//! whether two of its texts overlap.

use super::font;

/// A colour: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    /// `share` (0 to 1) of this colour over the rest of `other`.
    pub fn over(self, other: Color, share: f64) -> Color {
        let mix = |a: u8, b: u8| (f64::from(a) * share + f64::from(b) * (1.0 - share)).round() as u8;
        Color(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }
}

/// Which point of a text stands at its place. The height is always that of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// The sign of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// ●
    Disc,
    /// ■
    Square,
    /// ▲
    Triangle,
    /// ◆
    Diamond,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Where its anchor stands.
    pub x: f64,
    /// Its baseline.
    pub y: f64,
    /// What it says.
    pub text: String,
    /// Height of the em.
    pub size: f64,
    /// Heavier strokes.
    pub bold: bool,
    /// Which point stands at `x`.
    pub anchor: Anchor,
    /// Its colour.
    pub color: Color,
}

impl Text {
    /// Left, top, right, bottom of what it covers.
    pub fn bounds(&self) -> (f64, f64, f64, f64) {
        let width = font::width(&self.text, self.size, self.bold);
        let left = match self.anchor {
            Anchor::Start => self.x,
            Anchor::Middle => self.x - width / 2.0,
            Anchor::End => self.x - width,
        };
        (left, self.y - 0.75 * self.size, left + width, self.y + 0.22 * self.size)
    }
}

/// One shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A filled rectangle.
    Rect {
        /// Left.
        x: f64,
        /// Top.
        y: f64,
        /// Across.
        width: f64,
        /// Down.
        height: f64,
        /// Filled with this.
        fill: Color,
    },
    /// A line through points.
    Line {
        /// Its points.
        points: Vec<(f64, f64)>,
        /// Its width.
        width: f64,
        /// Its colour.
        color: Color,
    },
    /// A filled area.
    Area {
        /// Its corners.
        points: Vec<(f64, f64)>,
        /// Its colour.
        color: Color,
        /// 1 covers what lies below, 0 nothing.
        opacity: f64,
    },
    /// A marker, with a rim in the colour of the card so that it stands out from lines below it.
    Dot {
        /// Its middle.
        at: (f64, f64),
        /// Half its width.
        radius: f64,
        /// Its form.
        marker: Marker,
        /// Its colour.
        color: Color,
    },
    /// A text.
    Text(Text),
}

/// A picture of a size.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Across.
    pub width: f64,
    /// Down.
    pub height: f64,
    /// What it is, for those who can not see it.
    pub title: String,
    /// In drawing order.
    pub shapes: Vec<Shape>,
}

impl Picture {
    /// Adds a filled rectangle.
    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: Color) {
        self.shapes.push(Shape::Rect {
            x,
            y,
            width,
            height,
            fill,
        });
    }

    /// Adds a line.
    pub fn line(&mut self, points: Vec<(f64, f64)>, width: f64, color: Color) {
        if points.len() > 1 {
            self.shapes.push(Shape::Line { points, width, color });
        }
    }

    /// Adds a line of dashes: `on` drawn, `off` left out, along the way.
    pub fn dashes(&mut self, points: &[(f64, f64)], width: f64, color: Color, on: f64, off: f64) {
        let mut dash: Vec<(f64, f64)> = points.first().copied().into_iter().collect();
        let (mut drawing, mut left) = (true, on);
        for pair in points.windows(2) {
            let (mut from, to) = (pair[0], pair[1]);
            loop {
                let rest = (to.0 - from.0).hypot(to.1 - from.1);
                if rest <= left {
                    left -= rest;
                    dash.push(to);
                    break;
                }
                let share = left / rest;
                from = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
                dash.push(from);
                if drawing {
                    self.line(std::mem::take(&mut dash), width, color);
                }
                dash = vec![from];
                drawing = !drawing;
                left = if drawing { on } else { off };
            }
        }
        if drawing {
            self.line(dash, width, color);
        }
    }

    /// Adds a text.
    pub fn text(&mut self, text: Text) {
        if !text.text.is_empty() {
            self.shapes.push(Shape::Text(text));
        }
    }

    /// Every text, for tests and for those who read instead of look.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.shapes.iter().filter_map(|shape| match shape {
            Shape::Text(text) => Some(text),
            _ => None,
        })
    }
}
