//! A picture on plotters' backends: SVG text and PNG pixels.

use anyhow::{Context, anyhow};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::font;
use super::picture::{Anchor, Color as Paint, Marker, Picture, Shape, Text as Words};
use super::theme;

/// Pixels of an SVG's inner grid for each layout unit: plotters places by whole pixels.
const SVG_SCALE: f64 = 2.0;
/// Pixels of a PNG for each layout unit.
const PNG_SCALE: u32 = 2;
/// A PNG is drawn this many times larger in each direction, then averaged: plotters does not smooth wide lines.
const SMOOTHING: u32 = 2;

/// A backend's habits that a picture must not depend on.
#[derive(Clone, Copy)]
struct Habits {
    scale: f64,
    /// What the backend calls the size of a font, in ems.
    size_in_ems: f64,
    /// Whether characters are placed one by one: plotters-bitmap leaves out the gap before a character's ink.
    places_characters: bool,
    /// Distance from the top anchor of a text to its baseline, in ems.
    top_to_baseline: f64,
}

/// The picture as an SVG document: the same bytes on every machine and in every run.
pub fn svg(picture: &Picture) -> anyhow::Result<String> {
    // plotters-svg: font-size = size / 1.24; the top anchor is 0.76 em above the baseline.
    let habits = Habits {
        scale: SVG_SCALE,
        size_in_ems: 1.24,
        places_characters: false,
        top_to_baseline: 0.76,
    };
    let (width, height) = pixels(picture, SVG_SCALE);
    let mut text = String::new();
    draw(
        &SVGBackend::with_string(&mut text, (width, height)).into_drawing_area(),
        picture,
        habits,
    )?;
    // Shown at the size of the layout, with a name for those who can not see it.
    let head = format!("<svg width=\"{width}\" height=\"{height}\"");
    let shown = format!(
        "<svg role=\"img\" width=\"{}\" height=\"{}\"",
        picture.width, picture.height
    );
    let text = text.replacen(&head, &shown, 1);
    // What SVG takes for granted anyway; a third of the bytes of a field.
    let text = text.replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "");
    let end_of_head = text.find('>').context("an SVG begins with its head")? + 1;
    let title = escaped(&picture.title);
    Ok(format!(
        "{}\n<title>{title}</title>{}",
        &text[..end_of_head],
        &text[end_of_head..]
    ))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The picture as a PNG file.
pub fn png(picture: &Picture) -> anyhow::Result<Vec<u8>> {
    let large = PNG_SCALE * SMOOTHING;
    // plotters-bitmap with ab_glyph: the size is the height of a line; the top anchor is half of it above the baseline.
    let habits = Habits {
        scale: f64::from(large),
        size_in_ems: font::LINE_IN_EMS,
        places_characters: true,
        top_to_baseline: font::LINE_IN_EMS / 2.0,
    };
    let (width, height) = pixels(picture, f64::from(PNG_SCALE));
    let (large_width, large_height) = (width * SMOOTHING, height * SMOOTHING);
    let mut rgb = vec![0u8; (large_width * large_height * 3) as usize];
    draw(
        &BitMapBackend::with_buffer(&mut rgb, (large_width, large_height)).into_drawing_area(),
        picture,
        habits,
    )?;
    let small = averaged(&rgb, large_width as usize, width as usize, height as usize);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Default);
    encoder.write_header()?.write_image_data(&small)?;
    Ok(file)
}

/// Means of squares of `SMOOTHING` x `SMOOTHING` pixels.
fn averaged(rgb: &[u8], large_width: usize, width: usize, height: usize) -> Vec<u8> {
    let n = SMOOTHING as usize;
    let mut small = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        for x in 0..width {
            for channel in 0..3 {
                let pixels =
                    (0..n).flat_map(|dy| (0..n).map(move |dx| ((y * n + dy) * large_width + x * n + dx) * 3 + channel));
                let sum: usize = pixels.map(|at| usize::from(rgb[at])).sum();
                small.push(((sum + n * n / 2) / (n * n)) as u8);
            }
        }
    }
    small
}

fn pixels(picture: &Picture, scale: f64) -> (u32, u32) {
    (
        (picture.width * scale).round() as u32,
        (picture.height * scale).round() as u32,
    )
}

type Area<B> = DrawingArea<B, plotters::coord::Shift>;

fn draw<B: DrawingBackend>(area: &Area<B>, picture: &Picture, habits: Habits) -> anyhow::Result<()> {
    font::register();
    for shape in &picture.shapes {
        draw_shape(area, shape, habits).map_err(|error| anyhow!("chart {:?}: {error:?}", picture.title))?;
    }
    area.present()
        .map_err(|error| anyhow!("chart {:?}: {error:?}", picture.title))
}

type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

fn draw_shape<B: DrawingBackend>(area: &Area<B>, shape: &Shape, habits: Habits) -> Drawn<B> {
    let at = |(x, y): (f64, f64)| ((x * habits.scale).round() as i32, (y * habits.scale).round() as i32);
    match shape {
        Shape::Rect {
            x,
            y,
            width,
            height,
            fill,
        } => area.draw(&Rectangle::new(
            [at((*x, *y)), at((x + width, y + height))],
            rgb(*fill).filled(),
        )),
        Shape::Line { points, width, color } => {
            let points: Vec<(i32, i32)> = points.iter().copied().map(at).collect();
            let stroke = (width * habits.scale).round().max(1.0) as u32;
            area.draw(&PathElement::new(points, rgb(*color).stroke_width(stroke)))
        }
        Shape::Area { points, color, opacity } => {
            let points: Vec<(i32, i32)> = points.iter().copied().map(at).collect();
            area.draw(&Polygon::new(points, rgb(*color).mix(*opacity).filled()))
        }
        Shape::Dot {
            at: place,
            radius,
            marker,
            color,
        } => {
            dot(area, *place, radius + 1.0, *marker, theme::CARD, habits)?;
            dot(area, *place, *radius, *marker, *color, habits)
        }
        Shape::Text(words) => draw_text(area, words, habits),
    }
}

fn dot<B: DrawingBackend>(
    area: &Area<B>,
    (x, y): (f64, f64),
    radius: f64,
    marker: Marker,
    color: Paint,
    habits: Habits,
) -> Drawn<B> {
    let at = |x: f64, y: f64| ((x * habits.scale).round() as i32, (y * habits.scale).round() as i32);
    let style = rgb(color).filled();
    match marker {
        Marker::Disc => area.draw(&Circle::new(at(x, y), (radius * habits.scale).round() as i32, style)),
        Marker::Square => {
            let half = radius * 0.88;
            area.draw(&Rectangle::new([at(x - half, y - half), at(x + half, y + half)], style))
        }
        Marker::Triangle => {
            let half = radius * 1.15;
            let corners = vec![
                at(x, y - half),
                at(x + half, y + half * 0.75),
                at(x - half, y + half * 0.75),
            ];
            area.draw(&Polygon::new(corners, style))
        }
        Marker::Diamond => {
            let half = radius * 1.2;
            let corners = vec![at(x, y - half), at(x + half, y), at(x, y + half), at(x - half, y)];
            area.draw(&Polygon::new(corners, style))
        }
    }
}

fn draw_text<B: DrawingBackend>(area: &Area<B>, words: &Words, habits: Habits) -> Drawn<B> {
    let em = words.size * habits.scale;
    let weight = if words.bold { FontStyle::Bold } else { FontStyle::Normal };
    let font = (font::FAMILY, em * habits.size_in_ems, weight).into_font();
    let color = rgb(words.color);
    let y = (words.y * habits.scale - em * habits.top_to_baseline).round() as i32;
    if habits.places_characters {
        let left = words.bounds().0 * habits.scale;
        let style = TextStyle::from(font).color(&color).pos(Pos::new(HPos::Left, VPos::Top));
        for (character, place) in font::ink_places(&words.text, words.bold) {
            let x = (left + place * em).floor() as i32;
            area.draw(&Text::new(character.to_string(), (x, y), style.clone()))?;
        }
        return Ok(());
    }
    let horizontal = match words.anchor {
        Anchor::Start => HPos::Left,
        Anchor::Middle => HPos::Center,
        Anchor::End => HPos::Right,
    };
    let style = TextStyle::from(font).color(&color).pos(Pos::new(horizontal, VPos::Top));
    area.draw(&Text::new(
        words.text.as_str(),
        ((words.x * habits.scale).round() as i32, y),
        style,
    ))
}

fn rgb(color: Paint) -> RGBColor {
    RGBColor(color.0, color.1, color.2)
}
