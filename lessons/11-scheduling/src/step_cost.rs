//! What a step costs, by its rows: a model in four numbers.

use continuous_batching::batch::Batch;
use serde::Serialize;
use std::time::Duration;

// ANCHOR: step_cost
/// Time of a step = constant + rows x per_row + pairs x per_pair. A pair is a row and one of the positions that it
/// attends to.
///
/// The constant is the reading of the weights, which all rows share; a row is its arithmetic; a pair its part in
/// attention. Each token that is swapped out or back costs `per_copied`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StepCost {
    /// Time of any step with at least one row, before its rows and pairs are counted.
    pub constant: Duration,
    /// Time for each row.
    pub per_row: Duration,
    /// Time for each pair of a row and a position.
    pub per_pair: Duration,
    /// Time for each token that is copied to the host pool or back.
    pub per_copied: Duration,
}
// ANCHOR_END: step_cost

impl Default for StepCost {
    /// Stated, not measured: a small server that reads 8000 tokens of a prompt a second and decodes one text in 6 ms a
    /// token.
    fn default() -> StepCost {
        StepCost {
            constant: Duration::from_millis(6),
            per_row: Duration::from_micros(125),
            per_pair: Duration::from_nanos(50),
            per_copied: Duration::from_micros(10),
        }
    }
}

impl StepCost {
    /// Every step that computes rows takes the same time: time is counted in steps.
    pub fn equal_steps(step: Duration) -> StepCost {
        StepCost {
            constant: step,
            per_row: Duration::ZERO,
            per_pair: Duration::ZERO,
            per_copied: Duration::ZERO,
        }
    }

    /// Time of a step with this number of rows and pairs.
    pub fn of_counts(&self, rows: u64, pairs: u64) -> Duration {
        // Without a row the weights are not read.
        if rows == 0 {
            return Duration::ZERO;
        }
        self.constant + times(self.per_row, rows) + times(self.per_pair, pairs)
    }

    /// Time of a step with this batch.
    pub fn of(&self, batch: &Batch) -> Duration {
        let pairs = batch.positions.iter().map(|position| *position as u64 + 1);
        self.of_counts(batch.num_rows() as u64, pairs.sum())
    }

    /// Time to copy this number of tokens to or from the host pool.
    pub fn of_copies(&self, tokens: u64) -> Duration {
        times(self.per_copied, tokens)
    }
}

fn times(unit: Duration, count: u64) -> Duration {
    Duration::from_nanos(unit.as_nanos() as u64 * count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use training::TokenId;

    #[test]
    fn rows_and_pairs_are_counted_and_nothing_costs_nothing() {
        let ns = Duration::from_nanos;
        let cost = StepCost {
            constant: ns(1000),
            per_row: ns(100),
            per_pair: ns(1),
            per_copied: ns(7),
        };
        // A prompt of three and a text that decodes at position 9: 1 + 2 + 3 + 10 pairs.
        let mut batch = Batch::default();
        batch.tokens = vec![TokenId(0); 4];
        batch.positions = vec![0, 1, 2, 9];
        assert_eq!(cost.of(&batch), ns(1000 + 400 + 16));
        assert_eq!(cost.of(&Batch::default()), ns(0));
        assert_eq!(cost.of_copies(3), ns(21));
    }
}
