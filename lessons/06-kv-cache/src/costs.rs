//! One small task for each function that a reader can write: what it costs is counted, yours beside the reference.

use crate::append::append_rows;
use crate::generate::generate;
use crate::mask::chunk_mask;
use crate::memory::kv_bytes;
use crate::offset::row_place;
use crate::place::CacheOrder;
use generation::Limits;
use lab::cost::Task;
use lab::ledger;
use std::hint::black_box;
use training::TokenId;

/// The tasks. Appending allocates nothing; the loop's rows are those of prefill and decode.
pub fn tasks() -> Vec<Task> {
    vec![formula(), append(), offset(), cached_loop(), mask()]
}

fn formula() -> Task {
    Task::new("06.1", "Llama-7B, 2048 tokens", || {
        black_box(kv_bytes(32, 32, 128, 2048, 1, 2));
    })
}

fn append() -> Task {
    const CAPACITY: usize = 512;
    let qkv: Vec<f32> = (0..16 * 16 * 32).map(|i| (i as f32 * 0.37).sin()).collect();
    let (mut k, mut v) = (vec![0.0; CAPACITY * 4 * 32], vec![0.0; CAPACITY * 4 * 32]);
    let strides = CacheOrder::HeadMajor.strides(CAPACITY, 4, 32);
    Task::new("06.2", "16 rows of 4 key heads", move || {
        append_rows(&qkv, 8, 4, 32, 100, strides, &mut k, &mut v);
    })
}

fn offset() -> Task {
    Task::new("06.3", "64 rows after 100", || {
        for row in 0..64 {
            black_box(row_place(100, row));
        }
    })
}

fn cached_loop() -> Task {
    let prompt = vec![TokenId(1); 16];
    let limits = Limits {
        max_new_tokens: 128,
        max_seq_len: 512,
        end_of_text: vec![TokenId(0)],
    };
    Task::new("06.4", "128 tokens after 16", move || {
        let mut model = |tokens: &[TokenId]| {
            ledger::count(|l| {
                l.rows += tokens.len() as u64;
                l.steps += 1;
            });
            Ok(TokenId(1))
        };
        let generation = generate(&prompt, &limits, &mut model, &mut |_| {});
        black_box(generation).expect("the prompt fits");
    })
}

fn mask() -> Task {
    let mut mask = vec![0.0; 16 * 512];
    Task::new("06.5", "16 rows after 100, of 512", move || {
        chunk_mask(100, 16, 512, &mut mask);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the ledger says of the reference: the number of the lesson.
    #[test]
    fn the_loop_counts_the_rows_of_the_lesson() {
        let mut task = cached_loop();
        let (_, counted) = ledger::measure(|| (task.work)());
        assert_eq!((counted.rows, counted.steps), (143, 128));
    }

    #[test]
    fn every_task_runs_again_and_again() {
        for mut task in tasks() {
            (task.work)();
            (task.work)();
        }
    }
}
