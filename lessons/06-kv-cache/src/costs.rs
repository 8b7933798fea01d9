//! One small task for each function that a learner writes. Its cost is counted for the learner's function and for the
//! reference.

use crate::append::append_rows;
use crate::batch::largest_batch;
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

/// The tasks. Appending allocates nothing; the loop computes the rows of prefill and decode.
pub fn tasks() -> Vec<Task> {
    const CAPACITY: usize = 512;
    let qkv: Vec<f32> = (0..16 * 16 * 32).map(|i| (i as f32 * 0.37).sin()).collect();
    let (mut k, mut v) = (vec![0.0; CAPACITY * 4 * 32], vec![0.0; CAPACITY * 4 * 32]);
    let strides = CacheOrder::HeadMajor.strides(CAPACITY, 4, 32);
    let mut mask = vec![0.0; 16 * CAPACITY];
    vec![
        Task::new("06.1", "Llama-7B, 2048 tokens", || {
            black_box(kv_bytes(32, 32, 128, 2048, 1, 2));
        }),
        Task::new("06.10", "Llama-7B in 24 GiB", || {
            black_box(largest_batch(24 << 30, 13_476_831_232, 1 << 30, 1 << 30));
        }),
        Task::new("06.2", "16 rows of 4 key heads", move || {
            append_rows(&qkv, 8, 4, 32, 100, strides, &mut k, &mut v);
        }),
        Task::new("06.3", "64 rows after 100", || {
            for row in 0..64 {
                black_box(row_place(100, row));
            }
        }),
        cached_loop(),
        Task::new("06.5", "16 rows after 100, of 512", move || {
            chunk_mask(100, 16, CAPACITY, &mut mask);
        }),
    ]
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each task can run again, and the loop counts the rows that the lesson names.
    #[test]
    fn the_tasks_can_be_repeated_and_the_loop_counts_143_rows() {
        for mut task in tasks() {
            (task.work)();
            let (_, counted) = ledger::measure(|| (task.work)());
            if task.exercise == "06.4" {
                assert_eq!((counted.rows, counted.steps), (143, 128));
            }
        }
    }
}
