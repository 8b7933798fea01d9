//! One small task for each exercise function, so that its cost can be counted: the learner's beside the reference's.

use crate::counted::{Counted, made_up_logits};
use crate::exercises::{Seen, nucleus_len, penalize, softmax, top_k, uniform};
use crate::params::SamplingParams;
use lab::cost::Task;

/// Number of tokens of the vocabulary in the tasks.
const VOCAB_SIZE: usize = 4096;

/// The tasks. After its first run a task needs no allocation.
pub fn tasks() -> Vec<Task> {
    vec![shares(), largest(), border(), draws(), penalties()]
}

fn shares() -> Task {
    let logits = made_up_logits(VOCAB_SIZE, 1);
    let mut probabilities = vec![0.0; VOCAB_SIZE];
    Task::new("09.1", "4096 logits", move || {
        softmax(&logits, 0.7, &mut probabilities);
    })
}

fn largest() -> Task {
    let logits: Vec<Counted> = made_up_logits(VOCAB_SIZE, 2).into_iter().map(Counted).collect();
    let mut kept = Vec::new();
    Task::new("09.2", "40 of 4096", move || {
        top_k(&logits, 40, &mut kept);
    })
}

fn border() -> Task {
    let mut falling = vec![0.0; VOCAB_SIZE];
    let mut logits = made_up_logits(VOCAB_SIZE, 3);
    logits.sort_unstable_by(|a, b| b.total_cmp(a));
    softmax(&logits, 1.0, &mut falling);
    Task::new("09.3", "0.9 of 4096", move || {
        std::hint::black_box(nucleus_len(&falling, 1.0, 0.9));
    })
}

fn draws() -> Task {
    Task::new("09.4", "1000 numbers", || {
        for position in 0..1000 {
            std::hint::black_box(uniform(42, 0, position));
        }
    })
}

fn penalties() -> Task {
    let params = SamplingParams::default().with(|p| p.repetition_penalty = 1.2);
    let seen = Seen {
        in_prompt: true,
        in_output: 2,
    };
    let logits = made_up_logits(1000, 4);
    Task::new("09.5", "1000 logits", move || {
        for logit in &logits {
            std::hint::black_box(penalize(*logit, seen, &params));
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
