//! One small task for each function that a reader can write: what it costs is counted, yours beside the reference.

use crate::batch::{Padding, Span};
use crate::buckets::into_buckets;
use crate::padding::{mask, pad, positions};
use crate::serve::Window;
use crate::window::decide;
use lab::cost::Task;
use std::hint::black_box;
use std::time::Duration;
use training::TokenId;

/// The tasks. What fills a batch writes where it is told and allocates nothing.
pub fn tasks() -> Vec<Task> {
    vec![padding(), places(), leak(), buckets(), window()]
}

/// Rows and cells of the tasks' batch.
const BATCH: usize = 8;
const WIDTH: usize = 64;

/// Spans of prompts of 8, 16, … 64 tokens, padded in front.
fn spans() -> Vec<Span> {
    (1..=BATCH)
        .map(|row| Span {
            start: WIDTH - 8 * row,
            len: 8 * row,
        })
        .collect()
}

fn padding() -> Task {
    let prompts: Vec<Vec<TokenId>> = (1..=BATCH).map(|row| vec![TokenId(7); 8 * row]).collect();
    let (mut tokens, mut out) = (vec![TokenId(0); BATCH * WIDTH], spans());
    Task::new("07.1", "8 prompts, 64 cells wide", move || {
        let slices: [&[TokenId]; BATCH] = std::array::from_fn(|row| prompts[row].as_slice());
        let filler = TokenId(0);
        pad(&slices, WIDTH, Padding::Left, filler, &mut tokens, &mut out);
    })
}

fn places() -> Task {
    let (spans, mut out) = (spans(), vec![None; BATCH * WIDTH]);
    Task::new("07.2", "8 rows of 64 cells", move || {
        positions(&spans, WIDTH, &[0; BATCH], &mut out);
    })
}

fn leak() -> Task {
    let (spans, mut stored) = (spans(), vec![0..0; BATCH]);
    let mut context_len = vec![0; BATCH * WIDTH];
    Task::new("07.5", "8 rows of 64 cells", move || {
        mask(&spans, WIDTH, &[0; BATCH], &mut stored, &mut context_len);
    })
}

fn buckets() -> Task {
    let lengths: Vec<usize> = (0..256).map(|i| i * i % 509 + 1).collect();
    Task::new("07.3", "256 prompts, three percentiles", move || {
        black_box(into_buckets(&lengths, &[50.0, 80.0, 95.0]));
    })
}

fn window() -> Task {
    let waiting: Vec<Duration> = (0..7).map(Duration::from_millis).collect();
    let window = Window::new(8, Duration::from_millis(20)).expect("a batch of at least one");
    Task::new("07.4", "seven wait, 30 moments", move || {
        for now in 6..36 {
            black_box(decide(Duration::from_millis(now), &waiting, &window));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_runs_again_and_again() {
        for mut task in tasks() {
            (task.work)();
            (task.work)();
        }
    }
}
