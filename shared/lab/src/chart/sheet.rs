//! What all charts have in common: the card with its title and legend, the plot with its axes, texts and swatches.
//!
//! plotters draws the axes, ticks, grid lines and shapes. It has no wrapped titles, no legend outside the plot, and no
//! texts at a baseline; these are here.

use anyhow::Context;
use plotters::chart::{ChartContext, LabelAreaPosition};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::scale::Axis;
use super::theme::{self, Marker};
use super::{Chart, font};

/// A chart's axes and data, for plotters.
pub type Plot<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// The sign in front of a name, drawn as what it names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Swatch {
    /// A line with its marker (none where there are too many points for markers).
    Line(RGBColor, Option<Marker>),
    /// A line of dashes.
    Dashes(RGBColor),
    /// A dotted limit.
    Rule,
    /// A marker alone.
    Marker(RGBColor, Marker),
    /// A filled patch.
    Patch(RGBColor),
}

/// Width of a swatch and the gap behind it.
pub const SWATCH: f64 = 44.0;
pub const SWATCH_GAP: f64 = 14.0;

/// A line of text. The height of its place is that of the baseline.
#[derive(Clone)]
pub struct Line {
    at: (f64, f64),
    text: String,
    size: f64,
    bold: bool,
    anchor: HPos,
    color: RGBColor,
}

/// A line of text at a place.
pub fn text(at: (f64, f64), text: &str, size: f64, anchor: HPos, color: RGBColor) -> Line {
    let text = text.to_string();
    Line {
        at,
        text,
        size,
        bold: false,
        anchor,
        color,
    }
}

/// The texts above the data, laid out: title, note, a row of swatches, and the name of the axis of values.
pub struct Head {
    width: f64,
    lines: Vec<Line>,
    swatches: Vec<(Swatch, f64, f64)>,
    /// The height at which data may begin.
    pub bottom: f64,
}

impl Head {
    /// The head of a chart on a card of this width. `above` is the name of an axis.
    pub fn new(chart: &Chart, legend: &[(Swatch, String)], above: &str, width: f64) -> Self {
        let mut head = Self {
            width,
            lines: Vec::new(),
            swatches: Vec::new(),
            bottom: theme::MARGIN + 28.0,
        };
        head.paragraph(chart.text("title"), theme::TITLE, true, 44.0);
        let notes = ["note", "compared"].map(|key| chart.labels.get(key).map(String::as_str));
        let note = notes.into_iter().flatten().collect::<Vec<_>>().join("; ");
        head.bottom -= 4.0;
        head.paragraph(&note, theme::BODY, false, theme::LINE);
        head.bottom += 4.0;
        if !legend.is_empty() {
            head.bottom += 12.0;
            head.legend(legend);
        }
        if !above.is_empty() {
            head.bottom += 16.0;
            head.paragraph(above, theme::BODY, false, theme::LINE);
        }
        head.bottom += 4.0;
        head
    }

    /// Adds lines of text, wrapped to the card.
    fn paragraph(&mut self, words: &str, size: f64, bold: bool, height: f64) {
        let color = if bold { theme::INK } else { theme::SOFT_INK };
        for line in font::wrap(words, size, bold, self.width - 2.0 * theme::MARGIN) {
            let line = text((theme::MARGIN, self.bottom), &line, size, HPos::Left, color);
            self.lines.push(Line { bold, ..line });
            self.bottom += height;
        }
    }

    /// Adds swatches with names, side by side, in as many rows as they need.
    fn legend(&mut self, legend: &[(Swatch, String)]) {
        let end = self.width - theme::MARGIN;
        let mut x = theme::MARGIN;
        for (mark, name) in legend {
            let name = font::cut(name, theme::BODY, end - theme::MARGIN - SWATCH - SWATCH_GAP);
            let width = SWATCH + SWATCH_GAP + font::width(&name, theme::BODY, false);
            if x > theme::MARGIN && x + width > end {
                (x, self.bottom) = (theme::MARGIN, self.bottom + theme::LINE + 6.0);
            }
            let at = (x + SWATCH + SWATCH_GAP, self.bottom);
            self.lines.push(text(at, &name, theme::BODY, HPos::Left, theme::INK));
            self.swatches.push((*mark, x, self.bottom - 8.0));
            x += width + 40.0;
        }
        self.bottom += theme::LINE + 4.0;
    }
}

/// The room inside a chart where data goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Left end.
    pub left: f64,
    /// Upper end.
    pub top: f64,
    /// Right end.
    pub right: f64,
    /// Lower end.
    pub bottom: f64,
}

/// A card that is drawn on.
pub struct Sheet<'a>(DrawingArea<SVGBackend<'a>, Shift>);

/// Draws a card with its head and, by `body`, its data; returns the SVG document, the same bytes for the same data.
/// `bottom` is where the data ends.
pub fn svg(
    chart: &Chart,
    head: Head,
    bottom: f64,
    body: impl FnOnce(&Sheet<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<String> {
    font::register();
    let (width, height) = (head.width.round() as u32, (bottom + theme::MARGIN).ceil() as u32);
    let mut document = String::new();
    let sheet = Sheet(SVGBackend::with_string(&mut document, (width, height)).into_drawing_area());
    let corner = |inset: f64| (f64::from(width) - inset, f64::from(height) - inset);
    sheet.rect((0.0, 0.0), corner(0.0), theme::BORDER)?;
    sheet.rect((2.0, 2.0), corner(2.0), theme::CARD)?;
    for line in &head.lines {
        sheet.text(line)?;
    }
    for (mark, x, y) in head.swatches {
        sheet.swatch(mark, x, y)?;
    }
    body(&sheet)?;
    sheet.0.present()?;
    drop(sheet);
    // Shown at half the size of the grid, with a name for screen readers.
    let size = format!("<svg width=\"{width}\" height=\"{height}\"");
    let (width, height) = (width / theme::GRID_SCALE, height.div_ceil(theme::GRID_SCALE));
    let shown = format!("<svg role=\"img\" width=\"{width}\" height=\"{height}\"");
    let document = document.replacen(&size, &shown, 1);
    // What SVG takes for granted anyway; a third of the bytes of a field.
    let document = document.replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "");
    let (head, rest) = document.split_once('>').context("an SVG begins with its head")?;
    let title = chart.text("title").replace('&', "&amp;").replace('<', "&lt;");
    Ok(format!("{head}>\n<title>{title}</title>{rest}"))
}

fn pixel((x, y): (f64, f64)) -> (i32, i32) {
    (x.round() as i32, y.round() as i32)
}

impl<'a> Sheet<'a> {
    /// A plot with these axes in a frame. Grid lines are drawn for the values (`y`, or `x`
    /// where `is_lying`), or for both.
    pub fn plot(&self, frame: Frame, x: Axis, y: Axis, grid: Grid) -> anyhow::Result<Plot<'a>> {
        let (width, height) = self.0.dim_in_pixel();
        let num_x_labels = x.num_labels_across(frame.right - frame.left);
        let mut plot = ChartBuilder::on(&self.0)
            .margin_top(frame.top.round() as i32)
            .margin_right(width as i32 - frame.right.round() as i32)
            .set_label_area_size(LabelAreaPosition::Left, frame.left.round() as i32)
            .set_label_area_size(LabelAreaPosition::Bottom, height as i32 - frame.bottom.round() as i32)
            .build_cartesian_2d(x, y)?;
        let label = style(theme::SMALL, false, HPos::Center, theme::SOFT_INK);
        let bold = theme::GRID.stroke_width(2);
        // Two passes: the axis of values has neither a line nor tick marks, which plotters draws for both axes or none.
        let mut across = plot.configure_mesh();
        across
            .disable_x_axis()
            .disable_x_mesh()
            .axis_style(TRANSPARENT)
            .bold_line_style(bold);
        across
            .y_label_style(label.clone())
            .set_tick_mark_size(LabelAreaPosition::Left, 7);
        if grid == Grid::X {
            across.disable_y_mesh();
        }
        across.draw()?;
        let mut upward = plot.configure_mesh();
        upward
            .disable_y_axis()
            .disable_y_mesh()
            .axis_style(theme::AXIS.stroke_width(2))
            .bold_line_style(bold);
        upward
            .x_labels(num_x_labels)
            .x_label_style(label)
            .set_tick_mark_size(LabelAreaPosition::Bottom, 10);
        if grid == Grid::Y {
            upward.disable_x_mesh();
        }
        upward.draw()?;
        Ok(plot)
    }

    /// The name of the axis below a frame, wrapped: plotters writes it in one line.
    pub fn axis_name(&self, frame: Frame, name: &str) -> anyhow::Result<()> {
        for (index, line) in axis_name_lines(frame, name).iter().enumerate() {
            let y = frame.bottom + TICKS_BELOW + (index + 1) as f64 * (theme::LINE + 4.0);
            let at = ((frame.left + frame.right) / 2.0, y);
            self.text(&text(at, line, theme::BODY, HPos::Center, theme::SOFT_INK))?;
        }
        Ok(())
    }

    /// Draws a filled rectangle between two corners.
    pub fn rect(&self, from: (f64, f64), to: (f64, f64), fill: RGBColor) -> anyhow::Result<()> {
        Ok(self.0.draw(&Rectangle::new([pixel(from), pixel(to)], fill.filled()))?)
    }

    /// Draws a line through points.
    pub fn line(&self, points: &[(f64, f64)], width: u32, color: RGBColor) -> anyhow::Result<()> {
        let points: Vec<(i32, i32)> = points.iter().copied().map(pixel).collect();
        Ok(self.0.draw(&PathElement::new(points, color.stroke_width(width)))?)
    }

    /// Draws a straight line of dashes: `on` pixels drawn, `off` left out.
    fn dashes(&self, ends: [(f64, f64); 2], color: RGBColor, width: u32, (on, off): (i32, i32)) -> anyhow::Result<()> {
        let points = ends.map(pixel).into_iter();
        Ok(self
            .0
            .draw(&DashedPathElement::new(points, on, off, color.stroke_width(width)))?)
    }

    /// Draws a dotted limit.
    pub fn rule(&self, from: (f64, f64), to: (f64, f64)) -> anyhow::Result<()> {
        self.dashes([from, to], theme::SOFT_INK, 3, (4, 6))
    }

    /// Draws a text.
    pub fn text(&self, line: &Line) -> anyhow::Result<()> {
        // plotters-svg writes from the top of a text, which it takes to be 0.76 em above the baseline.
        let at = (line.at.0, line.at.1 - 0.76 * line.size);
        let style = style(line.size, line.bold, line.anchor, line.color);
        Ok(self.0.draw(&Text::new(line.text.clone(), pixel(at), style))?)
    }

    /// Draws a text with a patch of the card behind it, so that grid lines and limits do not cross it.
    pub fn backed_text(&self, line: &Line) -> anyhow::Result<()> {
        let width = font::width(&line.text, line.size, line.bold);
        let left = line.at.0
            - if matches!(line.anchor, HPos::Center) {
                width / 2.0
            } else {
                0.0
            };
        let (top, bottom) = (line.at.1 - 0.75 * line.size, line.at.1 + 0.22 * line.size);
        self.rect((left - 4.0, top), (left + width + 4.0, bottom), theme::CARD)?;
        self.text(line)
    }

    /// Draws a marker with a rim in the colour of the card, so that it stands out from lines below it.
    pub fn marker(&self, at: (f64, f64), radius: f64, marker: Marker, color: RGBColor) -> anyhow::Result<()> {
        for (radius, color) in [(radius + 2.0, theme::CARD), (radius, color)] {
            let corner = |dx: f64, dy: f64| pixel((at.0 + dx * radius, at.1 + dy * radius));
            let style = color.filled();
            let corners = match marker {
                Marker::Disc => {
                    self.0.draw(&Circle::new(pixel(at), radius.round() as i32, style))?;
                    continue;
                }
                Marker::Square => vec![(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
                Marker::Triangle => vec![(0.0, -1.15), (1.15, 0.86), (-1.15, 0.86)],
                Marker::Diamond => vec![(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)],
            };
            let corners: Vec<(i32, i32)> = corners.into_iter().map(|(dx, dy)| corner(dx, dy)).collect();
            self.0.draw(&Polygon::new(corners, style))?;
        }
        Ok(())
    }

    /// Draws a swatch that begins at `x`, its middle at `y`.
    pub fn swatch(&self, mark: Swatch, x: f64, y: f64) -> anyhow::Result<()> {
        let ends = [(x, y), (x + SWATCH, y)];
        let middle = (x + SWATCH / 2.0, y);
        match mark {
            Swatch::Line(color, marker) => {
                self.line(&ends, 5, color)?;
                marker.map_or(Ok(()), |marker| self.marker(middle, 8.0, marker, color))
            }
            Swatch::Dashes(color) => self.dashes(ends, color, 4, (10, 7)),
            Swatch::Marker(color, marker) => self.marker(middle, 8.0, marker, color),
            Swatch::Rule => self.rule(ends[0], ends[1]),
            Swatch::Patch(color) => self.rect((x, y - 12.0), (x + SWATCH, y + 12.0), color),
        }
    }
}

/// Which axes have grid lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Lines across, at the ticks of the left axis.
    Y,
    /// Lines upward, at the ticks of the bottom axis.
    X,
    /// Both.
    Both,
}

/// Room that ticks take below a frame.
const TICKS_BELOW: f64 = 40.0;

/// Room that ticks and the name of an axis take below a frame.
pub fn room_below(frame: Frame, name: &str) -> f64 {
    TICKS_BELOW + axis_name_lines(frame, name).len() as f64 * (theme::LINE + 4.0)
}

fn axis_name_lines(frame: Frame, name: &str) -> Vec<String> {
    font::wrap(name, theme::BODY, false, frame.right - frame.left + 120.0)
}

fn style(size: f64, bold: bool, anchor: HPos, color: RGBColor) -> TextStyle<'static> {
    let weight = if bold { FontStyle::Bold } else { FontStyle::Normal };
    // plotters-svg divides the size of a font by 1.24.
    let font = (font::FAMILY, size * 1.24, weight).into_font();
    TextStyle {
        font,
        color: color.to_backend_color(),
        pos: Pos::new(anchor, VPos::Top),
    }
}
