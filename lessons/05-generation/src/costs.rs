//! One small task for each exercise. `cargo course check` counts what it costs, for the learner's function and for the
//! reference.

use crate::characters::take_complete_characters;
use crate::generate::generate;
use crate::kernels::{apply_rope, attend_row, inverse_frequencies, rms_norm};
use crate::limits::Limits;
use lab::cost::Task;
use lab::ledger;
use loading::config::RopeScaling;
use training::TokenId;

/// The tasks. A kernel allocates nothing. For the loop, the rows that it computes are counted.
pub fn tasks() -> Vec<Task> {
    vec![norm(), rotary(), attention(), greedy_loop(), characters(), angles()]
}

/// Numbers between -1 and 1.
fn wave(len: usize, pace: f32) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * pace).sin()).collect()
}

fn norm() -> Task {
    let (x, weight, mut out) = (wave(256, 0.37), wave(256, 0.11), vec![0.0; 256]);
    Task::new("05.1", "one row of 256", move || {
        rms_norm(&x, &weight, 1e-5, &mut out);
    })
}

fn rotary() -> Task {
    let mut heads = wave(12 * 32, 0.37);
    let angles: Vec<f32> = wave(16, 0.7);
    let (cos, sin): (Vec<f32>, Vec<f32>) = angles.iter().map(|a| (a.cos(), a.sin())).unzip();
    Task::new("05.2", "12 heads of 32", move || {
        apply_rope(&mut heads, 32, &cos, &sin);
    })
}

fn attention() -> Task {
    const CONTEXT: usize = 64;
    let (q, k, v) = (
        wave(8 * 32, 0.37),
        wave(CONTEXT * 4 * 32, 0.11),
        wave(CONTEXT * 4 * 32, 0.23),
    );
    let (mut scores, mut out) = (vec![0.0; 2 * CONTEXT], vec![0.0; 8 * 32]);
    Task::new("05.3", "8 heads on 4, 64 positions", move || {
        attend_row(&q, &k, &v, 4 * 32, CONTEXT, 8, 4, 32, &mut scores, &mut out);
    })
}

fn greedy_loop() -> Task {
    let prompt = vec![TokenId(1); 12];
    let limits = Limits {
        max_new_tokens: 64,
        max_seq_len: 512,
        end_of_text: vec![TokenId(0)],
    };
    Task::new("05.4", "64 tokens after 12", move || {
        let mut model = |tokens: &[TokenId]| {
            ledger::count(|l| {
                l.rows += tokens.len() as u64;
                l.steps += 1;
            });
            Ok(TokenId(1))
        };
        let generation = generate(&prompt, &limits, &mut model, &mut |_| {});
        std::hint::black_box(generation).expect("the prompt fits");
    })
}

fn characters() -> Task {
    let bytes = "你好 fox ".repeat(64).into_bytes();
    let (mut waiting, mut text) = (Vec::with_capacity(8), String::with_capacity(bytes.len()));
    Task::new("05.5", "704 bytes in pieces of 2", move || {
        waiting.clear();
        text.clear();
        for piece in bytes.chunks(2) {
            waiting.extend_from_slice(piece);
            let taken = take_complete_characters(&waiting, &mut text);
            waiting.drain(..taken);
        }
    })
}

fn angles() -> Task {
    let scaling = RopeScaling::Llama3 {
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_position_embeddings: 8192,
    };
    Task::new("05.6", "64 pairs, llama3", move || {
        std::hint::black_box(inverse_frequencies(128, 5e5, &scaling));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The naive loop of the reference computes 2784 rows.
    #[test]
    fn the_loop_counts_the_rows_of_the_lesson() {
        let mut task = greedy_loop();
        let (_, counted) = ledger::measure(|| (task.work)());
        assert_eq!((counted.rows, counted.steps), (2784, 64));
    }

    #[test]
    fn every_task_runs_again_and_again() {
        for mut task in tasks() {
            (task.work)();
            (task.work)();
        }
        let text = "你好 fox ".repeat(64);
        assert_eq!(text.len(), 704);
    }
}
