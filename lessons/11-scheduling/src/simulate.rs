//! The scheduler on a clock of its own: hours of traffic in a second, without a model.
//!
//! Nothing of the scheduler is simulated: it is [`Engine`] over the numbers of lesson 10's blocks. Only the runner computes nothing, and says what the step
//! would have taken. What comes out depends on lengths, arrivals and three stated numbers, so it is the same on every machine.

use crate::engine::Engine;
use crate::entry::{Meta, TenantId};
use crate::limits::StepLimits;
use crate::memory::{SwapSpace, SwapStats};
use crate::policy::Policy;
use crate::stats::ScheduleStats;
use crate::step_cost::StepCost;
use continuous_batching::batch::Batch;
use continuous_batching::error::{EngineError, Refusal};
use continuous_batching::event::{Delivery, Event};
use continuous_batching::limits::EngineLimits;
use continuous_batching::request::{FinishReason, SeqId};
use continuous_batching::runner::{NoModel, Runner};
use paged_cache::{BlockId, Pages, Promise};
use static_batching::clock::{Clock, VirtualClock};
use std::collections::BTreeMap;
use std::time::Duration;
use training::TokenId;

/// A machine to serve with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What a step may be.
    pub limits: StepLimits,
    /// Blocks on the device.
    pub num_blocks: usize,
    /// Positions of a block.
    pub block_size: usize,
    /// Tokens that the host pool has room for.
    pub host_tokens: usize,
    /// What a step costs.
    pub cost: StepCost,
    /// No step begins after this.
    pub horizon: Duration,
}

impl Setup {
    /// Up to `max_running` requests of up to `max_seq_len` tokens, memory for all of them at their longest, and no bound on a step.
    pub fn new(max_running: usize, max_seq_len: usize) -> Setup {
        let block_size = 16;
        let engine = EngineLimits {
            max_running,
            max_new_tokens: usize::MAX,
            max_seq_len,
            vocab_size: 1,
            end_of_text: Vec::new(),
        };
        Setup {
            limits: StepLimits::whole_prompts(engine),
            num_blocks: max_running * max_seq_len.div_ceil(block_size),
            block_size,
            host_tokens: 0,
            cost: StepCost::default(),
            horizon: Duration::MAX,
        }
    }

    /// The same with steps of at most `budget` rows, and prompts in chunks of at most `chunk`.
    pub fn with_budget(self, budget: usize, chunk: usize) -> Setup {
        let limits = StepLimits {
            max_step_tokens: budget.max(self.limits.engine.max_running),
            max_chunk_tokens: chunk,
            ..self.limits
        };
        Setup { limits, ..self }
    }
}

/// A request to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// When.
    pub at: Duration,
    /// Of whom, and how urgent.
    pub meta: Meta,
    /// Tokens of its prompt, at least one.
    pub prompt_tokens: usize,
    /// Tokens of its answer.
    pub new_tokens: usize,
}

/// What became of a request. Times since the start; `None`: it did not come to that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When it came.
    pub arrived: Duration,
    /// When the first step with a row of it began.
    pub started: Option<Duration>,
    /// Its first token.
    pub first: Option<Duration>,
    /// Its last token so far.
    pub last: Option<Duration>,
    /// Its end.
    pub finished: Option<Duration>,
    /// Tokens that it got.
    pub tokens: usize,
    /// Longest time between two of them.
    pub longest_gap: Duration,
    /// Whether it gave up.
    pub gave_up: bool,
}

impl Outcome {
    /// From the arrival to the first row; for one that never got any, to `end`.
    pub fn waited(&self, end: Duration) -> Duration {
        let until = self.started.or(self.finished).unwrap_or(end);
        until.saturating_sub(self.arrived)
    }

    /// From the arrival to the first token, if there was one.
    pub fn ttft(&self) -> Option<Duration> {
        Some(self.first?.saturating_sub(self.arrived))
    }

    /// From the arrival to the end, if it got all of its answer.
    pub fn latency(&self) -> Option<Duration> {
        let finished = self.finished.filter(|_| !self.gave_up)?;
        Some(finished.saturating_sub(self.arrived))
    }
}

/// What came of a plan.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// One for each job, in their order. Jobs that the horizon cut off are missing at the end.
    pub outcomes: Vec<Outcome>,
    /// When the last step ended.
    pub end: Duration,
    /// The scheduler's counts.
    pub stats: ScheduleStats,
    /// What went to the host pool and came back.
    pub swaps: SwapStats,
    /// Rows that each tenant was given.
    pub served: BTreeMap<TenantId, u64>,
}

impl Simulation {
    /// Tokens of all answers.
    pub fn tokens(&self) -> usize {
        self.outcomes.iter().map(|outcome| outcome.tokens).sum()
    }

    /// Tokens of answers a second, up to the end.
    pub fn tokens_per_second(&self) -> f64 {
        self.tokens() as f64 / self.end.as_secs_f64().max(1e-9)
    }
}

/// Computes nothing: keeps the books of memory and says what the step would have taken.
pub struct Costed {
    model: NoModel,
    cost: StepCost,
    copied: Vec<(BlockId, BlockId)>,
    took: Duration,
}

impl Costed {
    /// A runner with this cost of a step.
    pub fn new(cost: StepCost) -> Costed {
        Costed {
            model: NoModel::new(1),
            cost,
            copied: Vec::new(),
            took: Duration::ZERO,
        }
    }

    /// What the last step took.
    pub fn took(&self) -> Duration {
        self.took
    }
}

impl Runner<SwapSpace<Pages>> for Costed {
    fn forward(
        &mut self,
        memory: &mut SwapSpace<Pages>,
        batch: &Batch,
    ) -> Result<&mut [f32], EngineError> {
        self.took = self.cost.of(batch);
        self.copied.clear();
        memory.device_mut().begin(batch, &mut self.copied)?;
        memory.device_mut().commit(batch);
        self.model.forward(memory, batch)
    }
}

/// The engine that is simulated.
pub type NumbersEngine = Engine<Costed, Pages>;

/// An engine for a setup, with nobody in it.
pub fn engine(setup: &Setup, policy: Box<dyn Policy>) -> NumbersEngine {
    let limits = setup.limits.clone();
    let pages = Pages::new(
        setup.num_blocks,
        setup.block_size,
        limits.engine.max_seq_len,
    );
    // All prompts look alike here, so nothing may be found by its content.
    let pages = pages.without_prefix_cache().promising(Promise::Known);
    let memory = SwapSpace::new(pages, setup.host_tokens);
    Engine::new(Costed::new(setup.cost), memory, limits, policy)
}

// ANCHOR: simulate
/// Serves all jobs, which come in the order of their times. Whoever has come is submitted before each step; a step takes what it costs.
///
/// # Errors
/// A job that this setup could never serve.
///
/// # Panics
/// If the jobs are not in the order of their times.
pub fn simulate(
    setup: &Setup,
    policy: Box<dyn Policy>,
    jobs: &[Job],
) -> Result<Simulation, Refusal> {
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
        stats: engine.stats(),
        swaps: engine.memory.stats(),
        served: std::mem::take(&mut engine.queues.served),
    })
}
// ANCHOR_END: simulate

/// A job whose prompt means nothing. It arrived when it came, also if a step was running then.
fn submit(engine: &mut NumbersEngine, job: &Job) -> Result<SeqId, Refusal> {
    let prompt = vec![TokenId(0); job.prompt_tokens];
    engine.submit(job.at, job.meta, &prompt, job.new_tokens)
}

/// One step, and its time.
fn step(
    engine: &mut NumbersEngine,
    setup: &Setup,
    clock: &mut VirtualClock,
    heard: &mut Vec<(SeqId, Option<FinishReason>)>,
) {
    let copied = engine.memory.stats().tokens;
    let stepped = engine.step(clock.now(), &mut |event| {
        heard.push(match event {
            Event::Token { id, .. } => (id, None),
            Event::Finished { id, reason, .. } => (id, Some(reason)),
        });
        Delivery::Taken
    });
    stepped.expect("nothing is computed, so nothing fails");
    let copied = engine.memory.stats().tokens - copied;
    clock.advance(engine.runner.took() + setup.cost.of_copies(copied));
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
    use crate::policy::Fcfs;

    fn job(at_ms: u64, prompt_tokens: usize, new_tokens: usize) -> Job {
        Job {
            at: Duration::from_millis(at_ms),
            meta: Meta::default(),
            prompt_tokens,
            new_tokens,
        }
    }

    /// By hand: one place, steps of 10 ms. The first needs 3 steps; the second came at 5 ms and is seen at 10 ms, waits until 30 ms and ends at 50 ms.
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
    fn nothing_begins_after_the_horizon_and_whoever_waits_too_long_gives_up() {
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
