//! A plane coloured by a value, with points on it: the regions between which a classifier decides.

use super::axes;
use super::layout::{self, Plot, Swatch};
use super::names::{self, Name};
use super::picture::{Color, Picture, Shape};
use super::scale::Axis;
use super::{Chart, Field, theme};

/// Height of the plane.
const HEIGHT: f64 = 400.0;
/// Steps of colour between one class and the other.
const SHADES: f64 = 10.0;

/// Lays out a field.
pub fn draw(chart: &Chart, field: &Field) -> Picture {
    let above = chart.labels.get("y").map_or("", String::as_str);
    let y_axis = Axis::fixed(field.y_range.0, field.y_range.1, false);
    let x_axis = Axis::fixed(field.x_range.0, field.x_range.1, false);
    let texts: Vec<String> = field
        .points
        .iter()
        .map(|(key, _)| chart.text(key).to_string())
        .collect();
    let left = theme::MARGIN + axes::tick_column(&y_axis);
    let most = theme::WIDTH - theme::MARGIN - names::name_column(&texts) - left;
    // One unit across is as long as one unit upward, where there is room.
    let ratio = (field.x_range.1 - field.x_range.0) / (field.y_range.1 - field.y_range.0);
    let width = (HEIGHT * ratio).min(most).max(most * 0.4);
    let card = (left + width + names::name_column(&texts) + theme::MARGIN).max(theme::WIDTH * 0.6);
    let (mut picture, top) = layout::begin(chart, &[], above, card);
    let plot = Plot {
        left,
        top: top + 4.0,
        right: left + width,
        bottom: top + 4.0 + HEIGHT,
    };

    axes::value_axis(&mut picture, plot, &y_axis);
    cells(&mut picture, plot, field);
    border(&mut picture, plot, field);
    let at_x = |x: f64| plot.left + x_axis.place(x) * width;
    let at_y = |y: f64| plot.bottom - y_axis.place(y) * HEIGHT;
    let mut column = Vec::new();
    for (index, (key, points)) in field.points.iter().enumerate() {
        let (color, marker) = (theme::series(index).over(Color(0, 0, 0), 0.85), theme::marker(index));
        let radius = if points.len() > 300 { 2.6 } else { 3.6 };
        let inside = points
            .iter()
            .filter(|(x, y)| (0.0..=1.0).contains(&x_axis.place(*x)) && (0.0..=1.0).contains(&y_axis.place(*y)));
        picture.shapes.extend(inside.map(|&(x, y)| Shape::Dot {
            at: (at_x(x), at_y(y)),
            radius,
            marker,
            color,
        }));
        let wanted = plot.top + 16.0 + 24.0 * index as f64;
        column.push(Name::new(chart.text(key), Swatch::Marker(color, marker), wanted, None));
    }
    names::draw_names(&mut picture, plot, column);
    let x_name = chart.labels.get("x").map_or("", String::as_str);
    let bottom = axes::position_axis(&mut picture, plot, &x_axis, at_x, x_name);
    layout::finish(picture, bottom)
}

/// The shade of a value: 0 the first class, `SHADES` the second.
fn shade(value: f32) -> i32 {
    (f64::from(value).clamp(0.0, 1.0) * SHADES).round() as i32
}

fn shade_color(shade: i32) -> Color {
    let towards = f64::from(shade) / SHADES * 2.0 - 1.0;
    let class = theme::series(usize::from(towards > 0.0));
    class.over(theme::CARD, 0.06 + 0.44 * towards.abs())
}

/// The cells, those of one shade joined to rectangles as large as a greedy walk finds: tens of times fewer shapes.
fn cells(picture: &mut Picture, plot: Plot, field: &Field) {
    let (columns, rows) = (field.columns, field.rows);
    let shades: Vec<i32> = field.values.iter().map(|value| shade(*value)).collect();
    let mut done = vec![false; shades.len()];
    let x = |column: usize| plot.left + (plot.right - plot.left) * column as f64 / columns as f64;
    let y = |row: usize| plot.bottom - (plot.bottom - plot.top) * row as f64 / rows as f64;
    for row in 0..rows {
        for column in 0..columns {
            let first = row * columns + column;
            if done[first] {
                continue;
            }
            let same = |at: usize| !done[at] && shades[at] == shades[first];
            let across = (column..columns).take_while(|c| same(row * columns + c)).count();
            let up = (row..rows)
                .take_while(|r| (column..column + across).all(|c| same(r * columns + c)))
                .count();
            for covered in row..row + up {
                done[covered * columns + column..covered * columns + column + across].fill(true);
            }
            let (left, right, top, bottom) = (x(column), x(column + across), y(row + up), y(row));
            // Half a unit more on two sides: no seams where neighbours meet at a fraction of a pixel.
            picture.rect(
                left,
                top - 0.5,
                right - left + 0.5,
                bottom - top + 0.5,
                shade_color(shades[first]),
            );
        }
    }
}

/// The line on which neither class wins: the edges between cells on different sides of one half.
fn border(picture: &mut Picture, plot: Plot, field: &Field) {
    let (columns, rows) = (field.columns, field.rows);
    let side = |row: usize, column: usize| field.values[row * columns + column] > 0.5;
    let x = |column: f64| plot.left + (plot.right - plot.left) * (column + 0.5) / columns as f64;
    let y = |row: f64| plot.bottom - (plot.bottom - plot.top) * (row + 0.5) / rows as f64;
    // Marching squares: where the value crosses one half between two neighbours, by linear interpolation.
    let crossing = |from: (usize, usize), to: (usize, usize)| {
        let (a, b) = (
            field.values[from.0 * columns + from.1],
            field.values[to.0 * columns + to.1],
        );
        let share = f64::from((0.5 - a) / (b - a));
        let along = |from: usize, to: usize| from as f64 + (to as f64 - from as f64) * share;
        (x(along(from.1, to.1)), y(along(from.0, to.0)))
    };
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    for row in 0..rows.saturating_sub(1) {
        for column in 0..columns.saturating_sub(1) {
            let corners = [
                (row, column),
                (row, column + 1),
                (row + 1, column + 1),
                (row + 1, column),
            ];
            let edges = (0..4).map(|edge| (corners[edge], corners[(edge + 1) % 4]));
            let crossed = edges.filter(|(from, to)| side(from.0, from.1) != side(to.0, to.1));
            // From the lower cell to the higher on every edge, so that neighbours compute the same crossing.
            let ends: Vec<(f64, f64)> = crossed.map(|(a, b)| crossing(a.min(b), a.max(b))).collect();
            pieces.extend(ends.chunks_exact(2).map(<[(f64, f64)]>::to_vec));
        }
    }
    for piece in joined(pieces) {
        picture.line(piece, 1.5, theme::INK);
    }
}

/// Joins pieces that share an end to lines, greedily: fewer shapes, and corners without gaps.
fn joined(mut pieces: Vec<Vec<(f64, f64)>>) -> Vec<Vec<(f64, f64)>> {
    let mut lines = Vec::new();
    while let Some(mut line) = pieces.pop() {
        loop {
            let (first, last) = (line[0], line[line.len() - 1]);
            let touching =
                |piece: &Vec<(f64, f64)>| [piece[0], piece[1]].iter().any(|end| *end == first || *end == last);
            let Some(at) = pieces.iter().position(touching) else {
                break;
            };
            let piece = pieces.swap_remove(at);
            let (shared, other) = if piece[0] == first || piece[0] == last {
                (piece[0], piece[1])
            } else {
                (piece[1], piece[0])
            };
            if shared == last {
                line.push(other)
            } else {
                line.insert(0, other)
            }
        }
        lines.push(line);
    }
    lines
}
