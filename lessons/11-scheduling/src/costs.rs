//! One small task for each function that a reader can write: what it costs is counted, yours beside the reference's.

use crate::exercises::ageing::effective_class;
use crate::exercises::budget::fill;
use crate::exercises::part::next_part;
use crate::exercises::recompute::preempt;
use crate::exercises::starvation::test_starvation;
use crate::exercises::victim::choose_victim;
use crate::limits::Preemption;
use crate::meta::{Class, Meta};
use crate::stats::ScheduleStats;
use crate::swap_space::Reclaim;
use crate::unjust::correct;
use continuous_batching::request::{Request, SeqId, Status};
use lab::cost::Task;
use lab::ledger;
use std::hint::black_box;
use std::time::Duration;
use training::TokenId;

/// Requests of all tasks.
const MANY: usize = 256;

/// The tasks. Nothing here need allocate, except in the last one.
pub fn tasks() -> Vec<Task> {
    vec![filling(), ageing(), victims(), preemptions(), parts(), starvation()]
}

fn filling() -> Task {
    // 250 decode, and six read prompts of 100 to 600.
    let mut missing = vec![1; MANY];
    for (index, missing) in missing.iter_mut().rev().take(6).enumerate() {
        *missing = 100 * (index + 1);
    }
    let mut rows = vec![0; MANY];
    Task::new("11.1", "a budget of 512 for 256 requests", move || {
        fill(512, 64, &missing, &mut rows);
        let filled: usize = rows.iter().sum();
        ledger::count(|l| l.rows += filled as u64);
    })
}

fn ageing() -> Task {
    Task::new("11.2", "256 requests", || {
        for index in 0..MANY as u64 {
            let waited = Duration::from_millis(37 * index);
            let class = Class((index % 8) as u8);
            black_box(effective_class(class, waited, Duration::from_millis(100)));
        }
    })
}

fn victims() -> Task {
    let classes: Vec<Class> = (0..MANY).map(|index| Class((index % 3) as u8)).collect();
    Task::new("11.3", "one of 256", move || {
        black_box(choose_victim(&classes, 17));
    })
}

/// A pool with room for every second one.
struct Every2nd(bool);

impl Reclaim for Every2nd {
    fn swap_out(&mut self, _id: SeqId) -> usize {
        self.0 = !self.0;
        40 * usize::from(self.0)
    }

    fn drop_blocks(&mut self, _id: SeqId) -> bool {
        true
    }

    fn stored_tokens(&self, _id: SeqId) -> usize {
        0
    }
}

fn preemptions() -> Task {
    let mut request = Request::with(SeqId(0), &[TokenId(0); 32], 16, 64, Meta::default());
    request.output.extend([TokenId(0); 9]);
    let mut memory = Every2nd(false);
    Task::new("11.4", "256 times, half of them swapped", move || {
        let mut stats = ScheduleStats::default();
        for _ in 0..MANY {
            request.num_computed = 40;
            request.status = Status::Decoding;
            preempt(&mut request, Preemption::Swap, &mut memory, &mut stats);
        }
        ledger::count(|l| l.add("recomputed_tokens", stats.recomputed_tokens));
    })
}

fn parts() -> Task {
    let mut request = Request::new(SeqId(0), &[TokenId(0); 96], 64, 256);
    request.output.extend([TokenId(0); 60]);
    Task::new("11.9", "a text of 156 in parts of 16", move || {
        let mut wanted = 0;
        request.num_computed = 0;
        while request.num_computed < request.num_tokens() {
            let (part, wants_logits) = next_part(&request, 16);
            request.num_computed = part.end;
            wanted += u64::from(wants_logits);
        }
        ledger::count(|l| l.add("tokens_wanted", wanted));
    })
}

fn starvation() -> Task {
    Task::new("11.5", "the right scheduler", || {
        let seen = test_starvation(&correct);
        black_box(seen).expect("the right scheduler passes");
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tasks_count_what_the_lesson_says() {
        let counted = |mut task: Task| {
            (task.work)();
            ledger::measure(|| (task.work)()).1
        };
        // 250 rows of streams, then 64 a prompt until nothing is left of 512.
        assert_eq!(counted(filling()).rows, 512);
        assert_eq!(counted(parts()).get("tokens_wanted"), 1);
        assert_eq!(counted(preemptions()).get("recomputed_tokens"), 128 * 40);
    }

    #[test]
    fn every_task_runs_again_and_again() {
        for mut task in tasks() {
            (task.work)();
            (task.work)();
        }
    }
}
