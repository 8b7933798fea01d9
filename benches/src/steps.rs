//! Schedulers with 256 requests in front of them, and nothing behind: what a decision costs.

use continuous_batching::batch::Batch;
use continuous_batching::limits::EngineLimits;
use continuous_batching::queues::Queues;
use continuous_batching::{Delivery, FirstCome, Memory, Request, Schedule, SeqId, Slots};
use scheduling::policy::{
    FairQuota, Fcfs, LengthCap, PlacesPerClass, Policy, Priority, PriorityWithAgeing, ShortestPrompt,
};
use scheduling::quota::Quota;
use scheduling::simulate::{NumbersEngine, Setup, engine};
use scheduling::{Class, Meta, Scheduler, SwapSpace, TenantId};
use std::time::{Duration, Instant};
use training::TokenId;

/// Requests that run in a step, once it is decided.
pub const RUNNING: usize = 256;
/// Requests that wait.
pub const WAITING: usize = 256;
/// Rows of a step at most.
const BUDGET: usize = 2048;
/// Rows of one prompt in a step at most.
const CHUNK: usize = 32;
/// Tokens that one request may have.
const MAX_SEQ_LEN: usize = 1024;
/// The time of the decision: some have waited for longer than others.
const NOW: Duration = Duration::from_secs(60);

/// Every policy, each with usual parameters.
pub fn policies() -> Vec<Box<dyn Policy>> {
    let patience = Duration::from_secs(10);
    vec![
        Box::new(Fcfs),
        Box::new(ShortestPrompt),
        Box::new(Priority),
        Box::new(PriorityWithAgeing { step: patience }),
        Box::new(FairQuota),
        Box::new(PlacesPerClass { places: 16 }),
        Box::new(LengthCap {
            prompt_tokens: 128,
            patience,
            inner: Fcfs,
        }),
    ]
}

/// Who is there before a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Requests that decode.
    pub decoding: usize,
    /// Requests in the middle of their prompts.
    pub prefilling: usize,
    /// Requests that wait. As many join as there are places.
    pub waiting: usize,
}

impl Crowd {
    /// 256 requests, all of which decode.
    pub const DECODE: Crowd = Crowd {
        decoding: RUNNING,
        prefilling: 0,
        waiting: 0,
    };
    /// The same, and others wait for a place.
    pub const FULL: Crowd = Crowd {
        waiting: WAITING,
        ..Crowd::DECODE
    };
    /// Some in their prompts, and eight places are free.
    pub const MIX: Crowd = Crowd {
        decoding: RUNNING - 8 - 24,
        prefilling: 24,
        waiting: WAITING,
    };
}

/// A moment in which lesson 11's scheduler has to decide; the same one as often as it is wanted.
pub struct Moment {
    scheduler: Scheduler,
    running: Vec<Request<Meta>>,
    waiting: Vec<Request<Meta>>,
    quota: Quota,
    memory: SwapSpace,
    limits: EngineLimits,
    batch: Batch,
}

impl Moment {
    /// A crowd and a policy, on the way of a real engine: what waits was submitted, what runs was admitted.
    pub fn new(crowd: Crowd, policy: Box<dyn Policy>) -> Moment {
        let mut engine = new_engine(policy);
        submit(&mut engine, crowd.decoding, |i| 8 + i % 50);
        let decodes = |request: &&Request<Meta>| !request.output.is_empty();
        while engine.queues.running.iter().filter(decodes).count() < crowd.decoding {
            step(&mut engine);
        }
        submit(&mut engine, crowd.prefilling, |_| 400);
        if crowd.prefilling > 0 {
            step(&mut engine);
        }
        submit(&mut engine, crowd.waiting, |i| 16 + 37 * i % 300);
        let (running, waiting) = (engine.queues.running, engine.queues.waiting);
        assert_eq!(running.len(), crowd.decoding + crowd.prefilling);
        assert_eq!(waiting.len(), crowd.waiting);
        Moment {
            running,
            waiting: waiting.into(),
            quota: engine.scheduler.quota.clone(),
            scheduler: engine.scheduler,
            memory: engine.memory,
            limits: engine.limits,
            batch: engine.batch,
        }
    }

    /// One decision, and how long it took. What it changed is forgotten.
    pub fn decide(&mut self) -> (Batch, Duration) {
        // Room, as a queue has that was longer before.
        let mut queues = Queues::with_capacity(2 * RUNNING);
        queues.running.extend_from_slice(&self.running);
        queues.waiting.extend(self.waiting.iter().cloned());
        let mut memory = self.memory.clone();
        self.scheduler.quota = self.quota.clone();
        self.scheduler.now = NOW;
        let begun = Instant::now();
        (self.scheduler).schedule(&mut queues, &mut memory, &self.limits, &mut self.batch);
        Memory::<Meta>::complete(&mut memory, &mut self.batch);
        let took = begun.elapsed();
        (self.batch.clone(), took)
    }
}

/// The same for lesson 08: no budget, no policy, slots.
pub struct EarlierMoment {
    limits: EngineLimits,
    running: Vec<Request>,
    waiting: Vec<Request>,
    slots: Slots,
    batch: Batch,
}

impl EarlierMoment {
    /// The same crowd. Prompts are not computed in parts here, so those in the middle of theirs count as decoding.
    pub fn new(crowd: Crowd) -> EarlierMoment {
        let mut slots = Slots::new(RUNNING, MAX_SEQ_LEN);
        let limits = setup().engine;
        let decoding = (0..crowd.decoding + crowd.prefilling).map(|i| {
            let mut request = request(i, 8 + i % 50);
            slots.admit(&mut request);
            request.advance(request.prompt.len());
            request.accept(TokenId(0), &limits);
            request
        });
        let running: Vec<Request> = decoding.collect();
        let waiting = (0..crowd.waiting).map(|i| request(running.len() + i, 16 + 37 * i % 300));
        EarlierMoment {
            waiting: waiting.collect(),
            running,
            limits,
            slots,
            batch: Batch::with_capacity(MAX_SEQ_LEN),
        }
    }

    /// One decision, and how long it took. What it changed is forgotten.
    pub fn decide(&mut self) -> (Batch, Duration) {
        let mut queues = Queues::with_capacity(2 * RUNNING);
        queues.running.extend_from_slice(&self.running);
        queues.waiting.extend(self.waiting.iter().cloned());
        let mut slots = self.slots.clone();
        let begun = Instant::now();
        FirstCome.schedule(&mut queues, &mut slots, &self.limits, &mut self.batch);
        Memory::<()>::complete(&mut slots, &mut self.batch);
        let took = begun.elapsed();
        (self.batch.clone(), took)
    }
}

/// An engine over numbers, of which 256 requests are never done: what a whole step costs besides the model.
pub struct WholeSteps {
    engine: NumbersEngine,
}

impl WholeSteps {
    /// All of them decode.
    pub fn new() -> WholeSteps {
        let mut steps = WholeSteps {
            engine: new_engine(Box::new(Fcfs)),
        };
        steps.refill();
        steps
    }

    fn refill(&mut self) {
        while self.engine.queues.running.len() < RUNNING {
            step(&mut self.engine);
            let missing = RUNNING - self.engine.queues.running.len();
            submit(&mut self.engine, missing, |_| 8);
            step(&mut self.engine);
        }
    }

    /// One step of 256 rows: schedule, choose, publish; and how long it took.
    pub fn step(&mut self) -> Duration {
        let begun = Instant::now();
        step(&mut self.engine);
        let took = begun.elapsed();
        self.refill();
        took
    }
}

impl Default for WholeSteps {
    fn default() -> WholeSteps {
        WholeSteps::new()
    }
}

fn setup() -> Setup {
    Setup::new(RUNNING, MAX_SEQ_LEN).with_budget(BUDGET, CHUNK)
}

fn new_engine(policy: Box<dyn Policy>) -> NumbersEngine {
    engine(&setup(), policy)
}

/// Requests of eight tenants and three classes, which came one after the other.
fn submit(engine: &mut NumbersEngine, count: usize, prompt_tokens: impl Fn(usize) -> usize) {
    for i in 0..count {
        let meta = Meta {
            tenant: TenantId((i % 8) as u32),
            class: Class((i % 3) as u8),
            arrival: Duration::from_millis(50 * i as u64),
            ..Meta::default()
        };
        let prompt = vec![TokenId(0); prompt_tokens(i)];
        let id = engine.submit_with(&prompt, MAX_SEQ_LEN, meta);
        id.expect("it fits");
    }
}

fn request(id: usize, prompt_tokens: usize) -> Request {
    let prompt = vec![TokenId(0); prompt_tokens];
    Request::new(SeqId(id as u64), &prompt, MAX_SEQ_LEN, MAX_SEQ_LEN)
}

fn step(engine: &mut NumbersEngine) {
    engine.scheduler.now = NOW;
    let stepped = engine.step(&mut |_| Delivery::Taken);
    stepped.expect("nothing is computed, so nothing fails");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_about_256_requests_and_can_be_taken_again() {
        for policy in policies() {
            let mut moment = Moment::new(Crowd::MIX, policy);
            let batch = moment.decide().0;
            batch.check_invariants();
            assert_eq!(batch.sequences.len(), RUNNING, "eight joined");
            assert!(batch.num_rows() > 4 * RUNNING, "prompts are among them");
            assert_eq!(moment.decide().0, batch);
        }
        let batch = Moment::new(Crowd::DECODE, Box::new(Fcfs)).decide().0;
        assert_eq!((batch.sequences.len(), batch.num_rows()), (RUNNING, RUNNING));
        let batch = EarlierMoment::new(Crowd::MIX).decide().0;
        assert_eq!(batch.sequences.len(), RUNNING);
    }

    #[test]
    fn a_whole_step_moves_256_streams_on_for_ever() {
        let mut steps = WholeSteps::new();
        for _ in 0..2 * MAX_SEQ_LEN {
            steps.step();
            assert_eq!(steps.engine.queues.running.len(), RUNNING);
        }
    }
}
