//! Lines that leave the range of their axis are cut at its edge.

use super::layout::Plot;

/// The pieces of a line that lie between the lower and the upper end of the plot (a fixed range may be smaller than the data).
pub fn clipped(points: &[(f64, f64)], plot: Plot) -> Vec<Vec<(f64, f64)>> {
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let Some((start, end)) = clip(from, to, plot) else {
            continue;
        };
        match pieces.last_mut() {
            Some(piece) if piece.last() == Some(&start) => piece.push(end),
            _ => pieces.push(vec![start, end]),
        }
    }
    pieces
}

fn clip(from: (f64, f64), to: (f64, f64), plot: Plot) -> Option<((f64, f64), (f64, f64))> {
    let cut = |y: f64| {
        let share = (y - from.1) / (to.1 - from.1);
        (from.0 + (to.0 - from.0) * share, y)
    };
    let limit = |end: (f64, f64)| match end.1 {
        y if y < plot.top => cut(plot.top),
        y if y > plot.bottom => cut(plot.bottom),
        _ => end,
    };
    let outside = from.1.max(to.1) < plot.top || from.1.min(to.1) > plot.bottom;
    (!outside).then(|| (limit(from), limit(to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_leaves_the_range_is_cut_at_its_edge() {
        let plot = Plot {
            left: 0.0,
            top: 10.0,
            right: 100.0,
            bottom: 20.0,
        };
        let pieces = clipped(&[(0.0, 15.0), (10.0, 5.0), (20.0, 15.0), (30.0, 30.0)], plot);
        assert_eq!(
            pieces,
            [
                vec![(0.0, 15.0), (5.0, 10.0)],
                vec![(15.0, 10.0), (20.0, 15.0), (20.0 + 10.0 / 3.0, 20.0)]
            ]
        );
    }
}
