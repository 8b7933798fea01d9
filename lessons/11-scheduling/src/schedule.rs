//! Which requests are computed in a step, and how many of their rows. Numbers only.
//!
//! ```text
//! waiting too long:        a request that has waited longer than allowed is cancelled
//! running, oldest first:   rows by budget; blocks for them, or a victim is preempted
//! waiting, by the policy:  join while places, budget and memory for the whole known text are there
//! batch:                   the rows; logits only where the last known token is among them
//! ```
//!
//! Supersedes [`continuous_batching::FirstCome`]; the engine around it stays.
//!
//! Why it ends: the oldest running request is never preempted and gets a row in every step, so it comes to its end;
//! then the next one is the oldest. A request that does not fit alone was refused when it was submitted.

use crate::exercises::budget::fill;
use crate::exercises::part::next_part;
use crate::exercises::recompute::preempt;
use crate::exercises::victim::choose_victim;
use crate::limits::StepLimits;
use crate::meta::{Candidate, Class, Meta, missing_rows};
use crate::policy::{Policy, first};
use crate::quota::Quota;
use crate::stats::ScheduleStats;
use crate::swap_space::Reclaim;
use crate::trace::{Preempted, StepTrace, shares};
use continuous_batching::batch::{Batch, BatchSequence};
use continuous_batching::limits::EngineLimits;
use continuous_batching::memory::{Admission, Memory};
use continuous_batching::queues::Queues;
use continuous_batching::request::{FinishReason, Request, SeqId, Status};
use continuous_batching::schedule::Schedule;
use std::time::Duration;

/// Buffers of one step, kept so that no step allocates.
#[derive(Debug)]
struct Scratch {
    /// `[running]`: number of rows that each running request has to compute before its next token.
    missing: Vec<usize>,
    /// `[running]`: number of rows that it gets in this step.
    rows: Vec<usize>,
    /// `[running]`: classes, where a victim is chosen.
    classes: Vec<Class>,
    /// Number of running requests of each class.
    running_of: [usize; 256],
    joined: Vec<SeqId>,
    preempted: Vec<Preempted>,
}

// ANCHOR: scheduler
/// Decides with a budget for each step, an order of joining, and memory that can be taken back.
pub struct Scheduler {
    /// Time of the step, on the clock of [`Meta::arrival`]. The owner of the engine sets it before each step; policies
    /// compare it with arrivals.
    pub now: Duration,
    /// What a step may compute.
    pub limits: StepLimits,
    /// Rows that each tenant was given.
    pub quota: Quota,
    policy: Box<dyn Policy>,
    /// Tenants of requests with this number or a higher one have not been welcomed yet.
    next_new: SeqId,
    scratch: Scratch,
    stats: ScheduleStats,
    pub(crate) trace: Option<Vec<StepTrace>>,
}
// ANCHOR_END: scheduler

impl Scheduler {
    /// A scheduler with a policy.
    ///
    /// # Panics
    /// If a step may compute no row. The first step panics if its budget is smaller than the number of requests that
    /// may run.
    pub fn new(limits: StepLimits, policy: Box<dyn Policy>) -> Scheduler {
        assert!(
            limits.max_step_tokens >= 1 && limits.max_chunk_tokens >= 1,
            "{limits:?}"
        );
        Scheduler {
            now: Duration::ZERO,
            limits,
            quota: Quota::default(),
            policy,
            next_new: SeqId(0),
            scratch: Scratch {
                missing: Vec::new(),
                rows: Vec::new(),
                classes: Vec::new(),
                running_of: [0; 256],
                joined: Vec::new(),
                preempted: Vec::new(),
            },
            stats: ScheduleStats::default(),
            trace: None,
        }
    }

    /// Counts since the scheduler was made.
    pub fn stats(&self) -> ScheduleStats {
        self.stats
    }

    /// Requests that joined in the last step, in the order of the policy.
    pub fn joined(&self) -> &[SeqId] {
        &self.scratch.joined
    }

    /// Keeps a trace from now on; see [`crate::trace::step`]. It allocates in every step.
    pub fn start_trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// The steps since [`Scheduler::start_trace`].
    pub fn trace(&self) -> &[StepTrace] {
        self.trace.as_deref().unwrap_or_default()
    }
}

// ANCHOR: schedule
impl<M: Memory<X> + Reclaim, X: AsRef<Meta> + AsMut<Meta>> Schedule<M, X> for Scheduler {
    /// Cost: a few looks at each running request, and for each one that joins a look at each waiting one. Nothing is
    /// allocated while no request joins or is preempted, once the tables have been as long.
    fn schedule(&mut self, queues: &mut Queues<X>, memory: &mut M, limits: &EngineLimits, batch: &mut Batch) {
        let budget = self.limits.max_step_tokens;
        let most = limits.max_running;
        assert!(
            budget >= most,
            "a budget of {budget} rows for {most} running requests: each needs a row in every step"
        );
        self.scratch.joined.clear();
        self.scratch.preempted.clear();
        // Accounts are opened before rows are put on any of them.
        self.welcome(queues);
        self.give_up(queues);
        // Running requests come first: what they leave of budget and memory is for those that join.
        self.share_out(queues);
        self.make_room(queues, memory);
        let used = self.serve(queues);
        // A preemption shows that there is no room for more requests.
        if self.scratch.preempted.is_empty() {
            self.join(queues, memory, most, budget - used);
        }
        self.build_batch(queues, batch);
        self.note(queues, batch);
    }
}
// ANCHOR_END: schedule

impl Scheduler {
    /// Opens the accounts of tenants whose requests arrived since the last step.
    fn welcome<X: AsRef<Meta>>(&mut self, queues: &Queues<X>) {
        let tenant = |request: &Request<X>| request.attached.as_ref().tenant;
        let new = queues.waiting.iter().filter(|request| request.id >= self.next_new);
        for request in new {
            // Only older requests count: of several new requests of a tenant the first opens the account.
            let earlier = queues
                .running
                .iter()
                .chain(&queues.waiting)
                .filter(|other| other.id < request.id);
            self.quota.welcome(tenant(request), earlier.map(tenant));
        }
        // Numbers are given in the order of submission, so one number says which requests are new.
        if let Some(newest) = queues.waiting.iter().map(|request| request.id).max() {
            self.next_new = self.next_new.max(SeqId(newest.0 + 1));
        }
    }

    /// Cancels the requests that have waited too long for their first row.
    fn give_up<X: AsRef<Meta>>(&mut self, queues: &mut Queues<X>) {
        let Some(latest) = self.limits.max_wait.and_then(|wait| self.now.checked_sub(wait)) else {
            return;
        };
        for request in &mut queues.waiting {
            let meta = request.attached.as_ref();
            if meta.num_preemptions == 0 && meta.arrival <= latest {
                request.finish(FinishReason::Cancelled);
                self.stats.timed_out += 1;
            }
        }
        // Nothing to free: of the waiting requests only preempted ones hold memory, and those are not cancelled here.
        queues.leave(|_| {});
    }

    /// Shares the budget out among the running requests.
    fn share_out<X>(&mut self, queues: &Queues<X>) {
        let Scratch { missing, rows, .. } = &mut self.scratch;
        missing.clear();
        missing.extend(queues.running.iter().map(|request| missing_rows(request, 0)));
        rows.clear();
        rows.resize(queues.running.len(), 0);
        fill(self.limits.max_step_tokens, self.limits.max_chunk_tokens, missing, rows);
    }

    // ANCHOR: make_room
    /// Takes blocks for the rows of the running requests, the oldest first. While blocks are missing, victims are
    /// preempted.
    fn make_room<M: Memory<X> + Reclaim, X: AsRef<Meta> + AsMut<Meta>>(
        &mut self,
        queues: &mut Queues<X>,
        memory: &mut M,
    ) {
        let (scratch, policy, now) = (&mut self.scratch, &*self.policy, self.now);
        let mut place = 0;
        while place < queues.running.len() {
            let request = &queues.running[place];
            let (id, wanted) = (request.id, request.num_computed + scratch.rows[place]);
            // A prompt that gets no row in this step needs no block for one either.
            if scratch.rows[place] == 0 || memory.grow(id, wanted) {
                place += 1;
                continue;
            }
            let class = |request: &Request<X>| {
                let meta = request.attached.as_ref();
                policy.class_of(now, meta.class, meta.arrival)
            };
            scratch.classes.clear();
            scratch.classes.extend(queues.running.iter().map(class));
            // Requests before this one have their blocks already, so the victim is this one or a later one.
            // `place` stays: this one tries again or, if it was the victim itself, the next one stands there now.
            let victim = choose_victim(&scratch.classes, place);
            let victim = victim.expect("the oldest fits alone: a request that does not was refused");
            let mut request = queues.running.remove(victim);
            // Rows stand in the order of the running queue, so the victim's have to go too.
            scratch.rows.remove(victim);
            preempt(&mut request, self.limits.preemption, memory, &mut self.stats);
            let stored = memory.stored_tokens(request.id);
            scratch.preempted.push(Preempted { id: request.id, stored });
            // By number, which is the order of arrival: a preempted request is older than those that came after it.
            let place = queues.waiting.partition_point(|other| other.id < request.id);
            queues.waiting.insert(place, request);
        }
    }
    // ANCHOR_END: make_room

    /// Puts the rows of the running requests on their tenants' accounts, and returns their sum.
    fn serve<X: AsRef<Meta>>(&mut self, queues: &Queues<X>) -> usize {
        for (request, rows) in queues.running.iter().zip(&self.scratch.rows) {
            self.quota.serve(request.attached.as_ref().tenant, *rows);
        }
        self.scratch.rows.iter().sum()
    }

    // ANCHOR: join
    /// Lets waiting requests join in the policy's order, with at most `budget` rows. The first request that finds no
    /// room ends the search: smaller ones that pass it could do so for ever.
    fn join<M: Memory<X> + Reclaim, X: AsRef<Meta>>(
        &mut self,
        queues: &mut Queues<X>,
        memory: &mut M,
        max_running: usize,
        mut budget: usize,
    ) {
        self.count_classes(queues);
        while queues.running.len() < max_running && budget > 0 {
            let Some(place) = self.next_to_join(queues, memory) else {
                return;
            };
            // A request that was swapped out is copied back by the same call.
            if memory.admit(&mut queues.waiting[place]) == Admission::NoRoom {
                return;
            }
            let mut request = queues.waiting.remove(place).expect("the policy chose it");
            request.status = Status::Prefilling;
            let rows = missing_rows(&request, 0).min(self.limits.max_chunk_tokens).min(budget);
            budget -= rows;
            let meta = request.attached.as_ref();
            self.quota.serve(meta.tenant, rows);
            // The next choice in this step sees the places and rows that this request took.
            self.scratch.running_of[usize::from(meta.class.0)] += 1;
            self.scratch.joined.push(request.id);
            self.stats.admitted += 1;
            // The running queue is in the order of arrival, so that its first request is the oldest.
            let place = queues.running.partition_point(|other| other.id < request.id);
            queues.running.insert(place, request);
            self.scratch.rows.insert(place, rows);
        }
    }

    /// The index of the waiting request that the policy puts first.
    fn next_to_join<X: AsRef<Meta>>(&self, queues: &Queues<X>, memory: &impl Reclaim) -> Option<usize> {
        let candidate = |request: &Request<X>| {
            let meta = request.attached.as_ref();
            Candidate {
                id: request.id,
                arrival: meta.arrival,
                tenant: meta.tenant,
                class: meta.class,
                prompt_tokens: request.prompt.len(),
                missing_tokens: missing_rows(request, memory.stored_tokens(request.id)),
                served_tokens: self.quota.served_rows(meta.tenant),
                class_running: self.scratch.running_of[usize::from(meta.class.0)],
            }
        };
        first(&*self.policy, self.now, queues.waiting.iter().map(candidate))
    }
    // ANCHOR_END: join

    fn count_classes<X: AsRef<Meta>>(&mut self, queues: &Queues<X>) {
        self.scratch.running_of.fill(0);
        for request in &queues.running {
            self.scratch.running_of[usize::from(request.attached.as_ref().class.0)] += 1;
        }
    }

    // ANCHOR: build
    /// Writes the rows of a step: of each running request its next part.
    fn build_batch<X>(&mut self, queues: &Queues<X>, batch: &mut Batch) {
        batch.clear();
        for (request, rows) in queues.running.iter().zip(&self.scratch.rows) {
            // The budget did not reach this prompt. It keeps its memory, and has its turn in a later step.
            if *rows == 0 {
                continue;
            }
            let (part, wants_logits) = next_part(request, *rows);
            // A part without a token: more of the text is to come.
            self.stats.chunks += u64::from(!wants_logits);
            batch.sequences.push(BatchSequence {
                id: request.id,
                first_row: batch.num_rows(),
                num_rows: part.len(),
                wants_logits,
            });
            batch.tokens.extend(request.tokens().skip(part.start).take(part.len()));
            batch.positions.extend(part);
        }
        self.stats.steps += 1;
        self.stats.rows += batch.num_rows() as u64;
    }
    // ANCHOR_END: build

    /// Adds the step to the trace, if one is kept.
    fn note<X: AsRef<Meta>>(&mut self, queues: &Queues<X>, batch: &Batch) {
        let Some(trace) = &mut self.trace else {
            return;
        };
        let budget = self.limits.max_step_tokens;
        trace.push(StepTrace {
            step: self.stats.steps - 1,
            now: self.now,
            budget: (budget < usize::MAX).then_some(budget),
            computed: shares(&queues.running, batch),
            joined: self.scratch.joined.clone(),
            preempted: self.scratch.preempted.clone(),
            waiting: queues.waiting.iter().map(|request| request.id).collect(),
            finished: Vec::new(),
        });
    }
}
