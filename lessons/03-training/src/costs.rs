//! What the exercises cost: one fixed piece of work for each function, the same for the learner's and for ours.

use lab::cost::Task;

use crate::config::TokenId;
use crate::exercises::{
    cross_entropy_backward, inputs_and_targets, merge_pair, most_frequent_pair, scoring_windows, split_of,
};
use crate::random::Random;

/// A text of random tokens out of `0..bound`.
fn text(len: usize, bound: usize, random: &mut Random) -> Vec<TokenId> {
    (0..len).map(|_| TokenId(random.below(bound) as u32)).collect()
}

/// The list.
pub fn tasks() -> Vec<Task> {
    let mut random = Random::at(&[3, 0xC057]);
    let letters = text(20_000, 8, &mut random);
    let rows = 64;
    let logits: Vec<f32> = (0..rows * 2048).map(|_| 8.0 * random.unit() as f32 - 4.0).collect();
    let mut buffer = logits.clone();
    let documents: Vec<String> = (0..100).map(|n| format!("Document {n}. ").repeat(20)).collect();
    let window = text(513, 2048, &mut random);
    let words: Vec<(Vec<TokenId>, u64)> = (0..500)
        .map(|n| (text(2 + n % 9, 26, &mut random), 1 + n as u64 % 5))
        .collect();
    vec![
        Task::new("03.1", "one merge over 20 000 tokens", move || {
            std::hint::black_box(merge_pair(&letters, (TokenId(1), TokenId(2)), TokenId(256)));
        }),
        Task::new("03.2", "64 rows of 2048 logits", move || {
            buffer.copy_from_slice(&logits);
            for (row, target) in buffer.chunks_exact_mut(2048).zip(0..) {
                let loss = cross_entropy_backward(row, TokenId(target), 1.0 / rows as f32);
                std::hint::black_box(loss);
            }
        }),
        Task::new("03.3", "the sides of 100 documents", move || {
            for document in &documents {
                std::hint::black_box(split_of(document));
            }
        }),
        Task::new("03.4", "windows over 100 000 tokens", || {
            std::hint::black_box(scoring_windows(100_000, 512, 256));
        }),
        Task::new("03.5", "labels of a window of 513 tokens", move || {
            std::hint::black_box(inputs_and_targets(&window));
        }),
        Task::new("03.8", "the pairs of 500 words", move || {
            std::hint::black_box(most_frequent_pair(&words));
        }),
    ]
}
