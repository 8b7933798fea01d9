//! The scheduler on a clock of its own: hours of traffic in a second, without a model.
//!
//! The scheduler is the real one, in lesson 08's [`Engine`], over the numbers of lesson 10's blocks. Only the runner
//! computes nothing; the time of a step comes from its batch, by [`crate::step_cost::StepCost`]. The result depends on
//! lengths, arrivals and a few stated numbers, so it is the same on every machine.

mod outcome;
mod setup;

pub use outcome::{Outcome, Simulation};
pub use setup::{Job, Setup};

use crate::meta::Meta;
use crate::policy::Policy;
use crate::schedule::Scheduler;
use crate::swap_space::SwapSpace;
use continuous_batching::engine::Engine;
use continuous_batching::error::Refusal;
use continuous_batching::event::{Delivery, Event};
use continuous_batching::request::{FinishReason, SeqId};
use continuous_batching::runner::NoModel;
use paged_cache::{BlockManager, Reserve};
use static_batching::clock::{Clock, VirtualClock};
use std::time::Duration;
use training::TokenId;

/// The engine that is simulated.
pub type NumbersEngine = Engine<NoModel, SwapSpace, Scheduler, Meta>;

/// An engine for a setup, without any request.
pub fn engine(setup: &Setup, policy: Box<dyn Policy>) -> NumbersEngine {
    let blocks = BlockManager::new(setup.num_blocks, setup.block_size, setup.engine.max_seq_len);
    // All prompts look alike here, so nothing may be found by its content.
    let blocks = blocks.without_prefix_cache().reserving(Reserve::Known);
    let memory = SwapSpace::new(blocks, setup.host_blocks);
    let scheduler = Scheduler::new(setup.limits.clone(), policy);
    Engine::with(
        NoModel::new(setup.engine.vocab_size),
        memory,
        scheduler,
        setup.engine.clone(),
    )
}

// ANCHOR: simulate
/// Serves all jobs, which come in the order of their times. Jobs whose time has come are submitted before each step; a
/// step takes what it costs.
///
/// # Errors
/// A job that this setup could never serve.
///
/// # Panics
/// If the jobs are not in the order of their times.
pub fn simulate(setup: &Setup, policy: Box<dyn Policy>, jobs: &[Job]) -> Result<Simulation, Refusal> {
    assert!(jobs.is_sorted_by_key(|job| job.at), "jobs come in order");
    let (mut engine, mut clock) = (engine(setup, policy), VirtualClock::new());
    let mut outcomes: Vec<Outcome> = Vec::with_capacity(jobs.len());
    let mut heard = Vec::new();
    while clock.now() <= setup.horizon {
        let now = clock.now();
        while let Some(job) = jobs.get(outcomes.len()).filter(|job| job.at <= now) {
            submit(&mut engine, job)?;
            outcomes.push(Outcome {
                arrived: job.at,
                ..Outcome::default()
            });
        }
        if engine.is_idle() {
            match jobs.get(outcomes.len()) {
                Some(next) => clock.wait_until(next.at),
                None => break,
            }
            continue;
        }
        // `now` is the beginning of the step, `clock.now()` from here on its end: a token is there when its step ends.
        step(&mut engine, setup, &mut clock, &mut heard);
        for id in engine.scheduler.joined() {
            outcomes[id.0 as usize].started.get_or_insert(now);
        }
        for (id, end) in heard.drain(..) {
            note(&mut outcomes[id.0 as usize], clock.now(), end);
        }
    }
    Ok(Simulation {
        outcomes,
        end: clock.now(),
        stats: engine.scheduler.stats(),
        swaps: engine.memory.stats(),
        served: engine.scheduler.quota.all().clone(),
    })
}
// ANCHOR_END: simulate

/// Submits a job; its prompt has no meaning. Its arrival is its own time, also if a step was running then.
fn submit(engine: &mut NumbersEngine, job: &Job) -> Result<SeqId, Refusal> {
    let prompt = vec![TokenId(0); job.prompt_tokens];
    let meta = Meta {
        arrival: job.at,
        ..job.meta
    };
    engine.submit_with(&prompt, job.new_tokens, meta)
}

/// One step, and its time.
fn step(
    engine: &mut NumbersEngine,
    setup: &Setup,
    clock: &mut VirtualClock,
    heard: &mut Vec<(SeqId, Option<FinishReason>)>,
) {
    let copied = engine.memory.stats().tokens;
    engine.scheduler.now = clock.now();
    let stepped = engine.step(&mut |event| {
        heard.push(match event {
            Event::Token { id, .. } => (id, None),
            Event::Finished { id, reason, .. } => (id, Some(reason)),
        });
        Delivery::Taken
    });
    stepped.expect("nothing is computed, so nothing fails");
    let copied = engine.memory.stats().tokens - copied;
    clock.advance(setup.cost.of(&engine.batch) + setup.cost.of_copies(copied));
}

fn note(outcome: &mut Outcome, now: Duration, end: Option<FinishReason>) {
    if let Some(reason) = end {
        outcome.finished = Some(now);
        outcome.gave_up = reason == FinishReason::Cancelled;
        return;
    }
    outcome.first.get_or_insert(now);
    if let Some(last) = outcome.last {
        outcome.longest_gap = outcome.longest_gap.max(now - last);
    }
    outcome.last = Some(now);
    outcome.tokens += 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::{Meta, TenantId};
    use crate::policy::Fcfs;
    use crate::step_cost::StepCost;

    fn job(at_ms: u64, prompt_tokens: usize, new_tokens: usize) -> Job {
        Job {
            at: Duration::from_millis(at_ms),
            meta: Meta::default(),
            prompt_tokens,
            new_tokens,
        }
    }

    /// By hand: one place, steps of 10 ms. The first needs 3 steps; the second came at 5 ms and is seen at 10 ms, waits
    /// until 30 ms and ends at 50 ms.
    #[test]
    fn times_are_those_of_the_steps() {
        let ms = Duration::from_millis;
        let mut setup = Setup::new(1, 64);
        setup.cost = StepCost::equal_steps(ms(10));
        let done = simulate(&setup, Box::new(Fcfs), &[job(0, 4, 3), job(5, 4, 2)]).unwrap();
        let [first, second] = done.outcomes[..] else {
            panic!("two")
        };
        assert_eq!(first.latency(), Some(ms(30)));
        assert_eq!((second.started, second.first), (Some(ms(30)), Some(ms(40))));
        assert_eq!(second.waited(done.end), ms(25));
        assert_eq!((second.latency(), done.end), (Some(ms(45)), ms(50)));
        assert_eq!((done.stats.steps, done.stats.rows), (5, 4 + 2 + 4 + 1));
        assert_eq!(done.served[&TenantId(0)], 11);
    }

    #[test]
    fn no_step_begins_after_the_horizon_and_a_long_wait_is_given_up() {
        let ms = Duration::from_millis;
        let mut setup = Setup::new(1, 64);
        setup.cost = StepCost::equal_steps(ms(10));
        setup.limits.max_wait = Some(ms(20));
        setup.horizon = ms(65);
        let jobs = [job(0, 1, 5), job(1, 1, 5), job(50, 1, 50)];
        let done = simulate(&setup, Box::new(Fcfs), &jobs).unwrap();
        assert!(done.outcomes[1].gave_up);
        assert_eq!(done.outcomes[1].latency(), None);
        assert_eq!(done.stats.timed_out, 1);
        assert_eq!((done.outcomes[2].tokens, done.end), (2, ms(70)));
    }
}
