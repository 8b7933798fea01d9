//! One small task for each function that a reader writes. `cargo course check` counts what it costs, for the reader's
//! function and for the reference.

use crate::batch::Batch;
use crate::careless::correct;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::event::Delivery;
use crate::exercises::admission::admit;
use crate::exercises::cancellation::test_cancellation;
use crate::exercises::ragged::build_batch;
use crate::exercises::recycle::recycle;
use crate::exercises::step::step;
use crate::limits::EngineLimits;
use crate::memory::Memory;
use crate::queues::Queues;
use crate::request::{Request, SeqId, Status};
use crate::runner::{NoModel, Runner};
use crate::slots::{Slot, SlotId, Slots};
use lab::cost::Task;
use lab::ledger;
use training::TokenId;

/// Requests and slots of all tasks.
const EIGHT: usize = 8;

/// The tasks. After a first run only the requests of 08.4 and the engines of 08.5 have to allocate.
pub fn tasks() -> Vec<Task> {
    vec![ragged(), joining(), leaving(), steps(), cancellation()]
}

/// A request with a prompt of 16.
fn request(id: usize) -> Request {
    Request::new(SeqId(id as u64), &[TokenId(0); 16], 64, 128)
}

fn ragged() -> Task {
    let mut running: Vec<Request> = (0..EIGHT).map(request).collect();
    // The first request brings its prompt, the others decode.
    for request in &mut running[1..] {
        request.output.push(TokenId(0));
        request.num_computed = request.prompt.len();
        request.status = Status::Decoding;
    }
    // Outside of the task, so that only the first run allocates.
    let mut batch = Batch::with_capacity(64);
    Task::new("08.1", "one prompt of 16, seven decode", move || {
        build_batch(&running, &mut batch);
        let rows = batch.num_rows() as u64;
        ledger::count(|l| l.rows += rows);
    })
}

fn joining() -> Task {
    let mut queues = Queues::with_capacity(EIGHT);
    queues.waiting.extend((0..2 * EIGHT).map(request));
    let mut memory = Slots::new(EIGHT, 128);
    Task::new("08.2", "eight of sixteen join", move || {
        admit(&mut queues, &mut memory, EIGHT);
        // They go back to the end of the queue, for the next run of this task.
        for request in queues.running.drain(..) {
            Memory::<()>::free(&mut memory, request.id);
            queues.waiting.push_back(request);
        }
    })
}

fn leaving() -> Task {
    let mut slots = [Slot::Free { next: None }; EIGHT];
    Task::new("08.3", "eight slots go back", move || {
        let mut first_free = None;
        for (index, slot) in slots.iter_mut().enumerate() {
            let owner = SeqId(index as u64);
            *slot = Slot::Held { owner, len: 1 };
        }
        for index in 0..EIGHT {
            let owner = SeqId(index as u64);
            recycle(&mut slots, &mut first_free, SlotId(index), owner);
        }
    })
}

/// A runner that counts passes and rows and computes nothing.
struct Counting(NoModel);

impl Runner for Counting {
    fn forward(&mut self, batch: &Batch) -> Result<&mut [f32], EngineError> {
        ledger::count(|l| {
            l.steps += 1;
            l.rows += batch.num_rows() as u64;
        });
        self.0.forward(batch)
    }
}

fn steps() -> Task {
    let limits = EngineLimits {
        max_running: EIGHT,
        max_new_tokens: 64,
        max_seq_len: 128,
        vocab_size: 4,
        end_of_text: Vec::new(),
    };
    let runner = Counting(NoModel::new(limits.vocab_size));
    let mut engine = Engine::new(runner, Slots::new(EIGHT, 128), limits);
    // 32 tokens in all; the longest answer has 8, so eight steps are enough.
    let lengths = [2, 8, 3, 3, 5, 1, 4, 6];
    Task::new("08.4", "8 requests of 1 to 8 tokens", move || {
        for length in lengths {
            let accepted = engine.submit(&[TokenId(0); 4], length);
            accepted.expect("a token that this engine knows");
        }
        while !engine.is_idle() {
            step(&mut engine, &mut |_| Delivery::Taken).expect("nothing is computed");
        }
    })
}

fn cancellation() -> Task {
    Task::new("08.5", "the right engine", || {
        let seen = test_cancellation(&correct);
        std::hint::black_box(seen).expect("the right engine passes");
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the ledger counts for the reference. Task 08.1: one prompt of 16 rows, and seven rows that decode. Task
    /// 08.4: eight steps; 8 prompts of 4 rows, and a row for each of 32 tokens except the last one of each request.
    #[test]
    fn the_tasks_count_what_the_lesson_says() {
        let counted = |mut task: Task| {
            (task.work)();
            ledger::measure(|| (task.work)()).1
        };
        assert_eq!(counted(ragged()).rows, 16 + 7);
        let steps = counted(steps());
        assert_eq!((steps.steps, steps.rows), (8, 8 * 4 + 32 - 8));
    }

    #[test]
    fn every_task_runs_again_and_again() {
        for mut task in tasks() {
            (task.work)();
            (task.work)();
        }
    }
}
