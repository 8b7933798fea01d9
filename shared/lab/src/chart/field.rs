//! A plane coloured by a value, with points on it: the regions between which a classifier decides.

use plotters::style::RGBColor;

use super::names::{self, Name};
use super::scale::Axis;
use super::sheet::{self, Frame, Grid, Head, Sheet, Swatch};
use super::{Chart, Field, theme};

/// Height of the plane.
const HEIGHT: f64 = 800.0;
/// Steps of colour between one class and the other.
const SHADES: f64 = 10.0;

/// Draws a field.
pub fn draw(chart: &Chart, field: &Field) -> anyhow::Result<String> {
    let above = &chart.axis_name("y");
    let y_axis = Axis::fixed(field.y_range.0, field.y_range.1, false);
    let x_axis = Axis::fixed(field.x_range.0, field.x_range.1, false);
    let keys = field.shades.iter().map(|(key, _)| key);
    let keys = keys.chain(field.points.iter().map(|(key, _)| key));
    let texts: Vec<String> = keys.map(|key| chart.text(key).to_string()).collect();
    let left = theme::MARGIN + y_axis.widest_tick() + 20.0;
    let most = theme::WIDTH - theme::MARGIN - names::name_column(&texts) - left;
    // One unit across is as long as one unit upward, where there is room.
    let ratio = (field.x_range.1 - field.x_range.0) / (field.y_range.1 - field.y_range.0);
    let width = (HEIGHT * ratio).min(most).max(most * 0.4);
    let card = (left + width + names::name_column(&texts) + theme::MARGIN).max(theme::WIDTH * 0.6);
    let head = Head::new(chart, &[], above, card);
    let top = head.bottom + 8.0;
    let frame = Frame {
        left,
        top,
        right: left + width,
        bottom: top + HEIGHT,
    };
    let x_name = &chart.axis_name("x");
    sheet::svg(chart, head, frame.bottom + sheet::room_below(frame, x_name), |sheet| {
        let plot = sheet.plot(frame, x_axis.clone(), y_axis.clone(), Grid::Y)?;
        cells(sheet, frame, field)?;
        border(sheet, frame, field)?;
        let place = |index: usize| frame.top + 32.0 + 48.0 * index as f64;
        let shades = field.shades.iter().enumerate().map(|(index, (key, value))| {
            let patch = Swatch::Patch(shade_color(shade(*value)));
            Name::new(chart.text(key), patch, place(index), None)
        });
        let mut column: Vec<Name> = shades.collect();
        for (index, (key, points)) in field.points.iter().enumerate() {
            let color = theme::over(theme::series(index), RGBColor(0, 0, 0), 0.85);
            let marker = theme::marker(index);
            let radius = if points.len() > 300 { 5.0 } else { 7.0 };
            let is_inside = |axis: &Axis, value: f64| (0.0..=1.0).contains(&axis.place(value));
            for point in points
                .iter()
                .filter(|(x, y)| is_inside(&x_axis, *x) && is_inside(&y_axis, *y))
            {
                let (x, y) = plot.backend_coord(point);
                sheet.marker((f64::from(x), f64::from(y)), radius, marker, color)?;
            }
            let wanted = place(field.shades.len() + index);
            column.push(Name::new(chart.text(key), Swatch::Marker(color, marker), wanted, None));
        }
        names::draw_names(sheet, frame, column)?;
        sheet.axis_name(frame, x_name)
    })
}

/// The shade of a value: 0 the first class, `SHADES` the second.
fn shade(value: f32) -> i32 {
    (f64::from(value).clamp(0.0, 1.0) * SHADES).round() as i32
}

fn shade_color(shade: i32) -> RGBColor {
    let towards = f64::from(shade) / SHADES * 2.0 - 1.0;
    let class = theme::series(usize::from(towards > 0.0));
    theme::over(class, theme::CARD, 0.06 + 0.44 * towards.abs())
}

/// The cells, those of one shade joined to rectangles as large as a greedy walk finds: tens of times fewer shapes.
fn cells(sheet: &Sheet<'_>, frame: Frame, field: &Field) -> anyhow::Result<()> {
    let (columns, rows) = (field.columns, field.rows);
    let shades: Vec<i32> = field.values.iter().map(|value| shade(*value)).collect();
    let mut done = vec![false; shades.len()];
    let x = |column: usize| frame.left + (frame.right - frame.left) * column as f64 / columns as f64;
    let y = |row: usize| frame.bottom - (frame.bottom - frame.top) * row as f64 / rows as f64;
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
            // A pixel more on two sides: no seams where neighbours meet.
            sheet.rect((left, top - 1.0), (right + 1.0, bottom), shade_color(shades[first]))?;
        }
    }
    Ok(())
}

/// The line on which neither class wins: the edges between cells on different sides of one half.
fn border(sheet: &Sheet<'_>, frame: Frame, field: &Field) -> anyhow::Result<()> {
    let (columns, rows) = (field.columns, field.rows);
    let side = |row: usize, column: usize| field.values[row * columns + column] > 0.5;
    let x = |column: f64| frame.left + (frame.right - frame.left) * (column + 0.5) / columns as f64;
    let y = |row: f64| frame.bottom - (frame.bottom - frame.top) * (row + 0.5) / rows as f64;
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
    joined(pieces)
        .iter()
        .try_for_each(|piece| sheet.line(piece, 3, theme::INK))
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
