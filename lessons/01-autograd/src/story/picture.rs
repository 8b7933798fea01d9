//! What a trained network makes of the plane, in letters and as a chart.

use autograd::network::Network;
use autograd::spiral::Spiral;
use autograd::{Real, Result, Tensor, no_grad};
use lab::chart::Chart;
use lab::story::Story;
use lab::term::Tone;
use ndarray::ArrayD;

/// Half the width of the picture: the spiral reaches to about 1.05.
const REACH: f64 = 1.1;

/// Probabilities of the second arm over a grid of `[rows, columns]` cells, lowest row first.
fn probabilities<T: Real>(network: &Network<T>, columns: usize, rows: usize) -> Result<Vec<f32>> {
    let centre = |i: usize, n: usize| T::of(REACH * (2.0 * (i as f64 + 0.5) / n as f64 - 1.0));
    let cells = (0..rows).flat_map(|y| (0..columns).flat_map(move |x| [centre(x, columns), centre(y, rows)]));
    let points = Tensor::new(ArrayD::from_shape_vec(vec![rows * columns, 2], cells.collect()).expect("two per cell"));
    let shares = no_grad(|| network.forward(&points)?.softmax(1))?;
    let shares = shares.value();
    Ok(shares.outer_iter().map(|row| row[1].as_f64() as f32).collect())
}

/// The decision regions as a chart.
pub fn chart<T: Real>(id: &str, title: &str, network: &Network<T>, spiral: &Spiral) -> Result<Chart> {
    let cells = 72;
    let values = probabilities(network, cells, cells)?;
    let arm = |arm: usize| {
        let of_arm = spiral.points.iter().zip(&spiral.arms).filter(move |(_, a)| **a == arm);
        of_arm.map(|(p, _)| (p[0], p[1])).collect::<Vec<_>>()
    };
    let field = Chart::field(id, title, (-REACH, REACH), (-REACH, REACH), cells, values);
    Ok(field
        .x_label("x")
        .y_label("y")
        .points("arm 0", arm(0))
        .points("arm 1", arm(1)))
}

/// Columns and rows of a picture in letters; a letter is about twice as high as wide.
const COLUMNS: usize = 34;
const ROWS: usize = 15;

/// Two networks side by side: `o` and `x` are the points, a dot is a place that the network gives to the `x` arm.
pub fn side_by_side<T: Real>(
    story: &mut Story,
    names: [&str; 2],
    networks: [&Network<T>; 2],
    spiral: &Spiral,
) -> Result<()> {
    let [left, right] = networks;
    let (left, right) = (letters(left, spiral)?, letters(right, spiral)?);
    story.print(format!("   {:<COLUMNS$}   {}\n", names[0], names[1]));
    for (left, right) in left.iter().zip(&right) {
        let mut line = String::from("   ");
        for letter in left.chars().chain("   ".chars()).chain(right.chars()) {
            let tone = match letter {
                'o' => Tone::Accent,
                'x' => Tone::Warn,
                _ => Tone::Dim,
            };
            line += &story.paint(tone, &letter.to_string());
        }
        story.print(line + "\n");
    }
    Ok(())
}

/// The rows of one picture, top row first.
fn letters<T: Real>(network: &Network<T>, spiral: &Spiral) -> Result<Vec<String>> {
    let probabilities = probabilities(network, COLUMNS, ROWS)?;
    let mut letters: Vec<char> = probabilities.iter().map(|&p| if p > 0.5 { '·' } else { ' ' }).collect();
    let cell = |x: f64, n: usize| (((x / REACH + 1.0) / 2.0 * n as f64) as usize).min(n - 1);
    for (point, &arm) in spiral.points.iter().zip(&spiral.arms) {
        letters[cell(point[1], ROWS) * COLUMNS + cell(point[0], COLUMNS)] = if arm == 0 { 'o' } else { 'x' };
    }
    Ok(letters.chunks(COLUMNS).rev().map(|row| row.iter().collect()).collect())
}
