//! One small task for each function that a learner writes. Its cost is counted for the learner's function and for the
//! reference.

use crate::buckets::into_buckets;
use crate::padding::{mask, pad, positions};
use crate::parts::{Padding, Span, Window};
use crate::window::decide;
use lab::cost::Task;
use std::hint::black_box;
use std::time::Duration;
use training::TokenId;

/// Rows and cells of the tasks' batch: prompts of 8, 16, … 64 tokens, padded in front.
const BATCH: usize = 8;
const WIDTH: usize = 64;

/// The tasks. The functions that fill a batch write into slices and allocate nothing.
pub fn tasks() -> Vec<Task> {
    let span = |row| Span {
        start: WIDTH - 8 * row,
        len: 8 * row,
    };
    let spans: Vec<Span> = (1..=BATCH).map(span).collect();
    let prompts: Vec<Vec<TokenId>> = (1..=BATCH).map(|row| vec![TokenId(7); 8 * row]).collect();
    let (mut tokens, mut padded) = (vec![TokenId(0); BATCH * WIDTH], spans.clone());
    let (of_positions, mut out) = (spans.clone(), vec![None; BATCH * WIDTH]);
    let (mut stored, mut context_len) = (vec![0..0; BATCH], vec![0; BATCH * WIDTH]);
    let lengths: Vec<usize> = (0..256).map(|i| i * i % 509 + 1).collect();
    let waiting: Vec<Duration> = (0..7).map(Duration::from_millis).collect();
    let window = Window::new(8, Duration::from_millis(20)).expect("a batch of at least one");
    vec![
        Task::new("07.1", "8 prompts, 64 cells wide", move || {
            let slices: [&[TokenId]; BATCH] = std::array::from_fn(|row| prompts[row].as_slice());
            pad(&slices, WIDTH, Padding::Left, TokenId(0), &mut tokens, &mut padded);
        }),
        Task::new("07.2", "8 rows of 64 cells", move || {
            positions(&of_positions, WIDTH, &[0; BATCH], &mut out);
        }),
        Task::new("07.5", "8 rows of 64 cells", move || {
            mask(&spans, WIDTH, &[0; BATCH], &mut stored, &mut context_len);
        }),
        Task::new("07.3", "256 prompts, three percentiles", move || {
            black_box(into_buckets(&lengths, &[50.0, 80.0, 95.0]));
        }),
        Task::new("07.4", "seven wait, 30 moments", move || {
            for now in 6..36 {
                black_box(decide(Duration::from_millis(now), &waiting, &window));
            }
        }),
    ]
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_task_can_be_repeated() {
        for mut task in super::tasks() {
            (task.work)();
            (task.work)();
        }
    }
}
