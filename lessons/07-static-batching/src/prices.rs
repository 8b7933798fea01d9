//! The time of a step by its number of rows: what a virtual clock is advanced by.
//!
//! A schedule is counted in rows and steps. Prices turn these counts into time without running the model again: they
//! are measured once, on any model, and give the same times for every schedule that is compared.

use serde::Serialize;
use std::time::Duration;

/// Measured times of a step, and a straight line between each two of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepPrices {
    /// (rows, seconds), rows ascending.
    points: Vec<(f64, f64)>,
}

impl StepPrices {
    /// Prices through these points, as (rows, seconds).
    ///
    /// # Panics
    /// If there are fewer than two points, or the rows do not ascend.
    pub fn new(points: Vec<(f64, f64)>) -> StepPrices {
        assert!(points.len() >= 2, "a line needs two points");
        assert!(points.is_sorted_by(|a, b| a.0 < b.0), "rows ascend");
        StepPrices { points }
    }

    /// Time of a step over `rows` rows. Below the first point it is the price of that point, above the last one the
    /// line through the last two points goes on. A step without rows takes no time.
    pub fn step(&self, rows: usize) -> Duration {
        let (x, last) = (rows as f64, self.points.len() - 1);
        if rows == 0 {
            return Duration::ZERO;
        }
        let upper = self.points.iter().position(|(rows, _)| x <= *rows).unwrap_or(last);
        let seconds = match upper {
            0 => self.points[0].1,
            _ => {
                let ((x0, y0), (x1, y1)) = (self.points[upper - 1], self.points[upper]);
                y0 + (y1 - y0) * (x - x0) / (x1 - x0)
            }
        };
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }

    /// Time of a static batch: one step over a rectangle of `batch_size` prompts, `width` cells each, and a step over
    /// `batch_size` rows for each further token of its longest answer.
    pub fn batch(&self, batch_size: usize, width: usize, longest_answer: usize) -> Duration {
        let further = u32::try_from(longest_answer.saturating_sub(1)).unwrap_or(u32::MAX);
        self.step(batch_size * width) + self.step(batch_size) * further
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_points_the_price_is_on_their_line_and_behind_the_last_it_goes_on() {
        let prices = StepPrices::new(vec![(1.0, 0.010), (8.0, 0.017), (16.0, 0.025)]);
        let ms = |rows| prices.step(rows).as_secs_f64() * 1e3;
        for (rows, expected) in [
            (0, 0.0),
            (1, 10.0),
            (4, 13.0),
            (8, 17.0),
            (12, 21.0),
            (16, 25.0),
            (32, 41.0),
        ] {
            assert!(
                (ms(rows) - expected).abs() < 1e-6,
                "{rows} rows: {} ms, expected {expected}",
                ms(rows)
            );
        }
    }

    #[test]
    fn a_batch_is_one_step_of_prompts_and_a_step_for_each_further_token() {
        let prices = StepPrices::new(vec![(1.0, 1.0), (2.0, 2.0)]);
        assert_eq!(prices.batch(2, 5, 4), Duration::from_secs(10 + 3 * 2));
        assert_eq!(prices.batch(3, 2, 1), Duration::from_secs(6));
    }
}
