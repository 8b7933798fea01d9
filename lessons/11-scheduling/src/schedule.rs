//! Who is computed in a step, and how much of whom. Numbers only.
//!
//! ```text
//! waiting too long:        whoever has waited longer than may be gives up
//! running, oldest first:   rows by budget; room for them, or a victim is sent back
//! waiting, by the policy:  join while places, budget and memory for the whole known text are there
//! batch:                   the rows; logits only where the last known token is among them
//! ```
//!
//! Why it ends: the oldest running request is never sent back and gets a row in every step, so it comes to its end; then the next one is the oldest.
//! What can not fit alone was refused when it was submitted.

use crate::budget::fill;
use crate::entry::{Class, Entry};
use crate::limits::StepLimits;
use crate::memory::{Device, SwapSpace};
use crate::part::next_part;
use crate::policy::{Policy, first};
use crate::queues::Queues;
use crate::recompute::send_back;
use crate::stats::ScheduleStats;
use crate::trace::{SentBack, StepTrace, shares};
use crate::victim::choose_victim;
use continuous_batching::batch::{Batch, BatchSequence};
use continuous_batching::memory::{Admission, Memory};
use continuous_batching::request::{FinishReason, SeqId, Status};
use std::time::Duration;

/// What one step needs to be decided, kept so that no step allocates.
#[derive(Debug)]
struct Scratch {
    /// Of those who run, in their order: rows that are missing, and rows that they get.
    missing: Vec<usize>,
    rows: Vec<usize>,
    classes: Vec<Class>,
    /// Requests that run, by class.
    running_of: [usize; 256],
    joined: Vec<SeqId>,
    sent_back: Vec<SentBack>,
}

// ANCHOR: scheduler
/// Decides, step by step.
pub struct Scheduler {
    /// What is allowed.
    pub limits: StepLimits,
    policy: Box<dyn Policy>,
    scratch: Scratch,
    stats: ScheduleStats,
    trace: Option<Vec<StepTrace>>,
}
// ANCHOR_END: scheduler

impl Scheduler {
    /// A scheduler with a policy.
    ///
    /// # Panics
    /// If nothing may run, or there is not a row for each that may.
    pub fn new(limits: StepLimits, policy: Box<dyn Policy>) -> Scheduler {
        let most = limits.engine.max_running;
        assert!(
            most >= 1 && limits.engine.vocab_size >= 1 && limits.max_chunk_tokens >= 1,
            "{limits:?}"
        );
        assert!(limits.max_step_tokens >= most, "{limits:?}");
        Scheduler {
            limits,
            policy,
            scratch: Scratch {
                missing: Vec::with_capacity(most),
                rows: Vec::with_capacity(most),
                classes: Vec::with_capacity(most),
                running_of: [0; 256],
                joined: Vec::with_capacity(most),
                sent_back: Vec::with_capacity(most),
            },
            stats: ScheduleStats::default(),
            trace: None,
        }
    }

    // ANCHOR: schedule
    /// Decides one step and writes it into `batch`. Its sequences stand in the order of the running queue; who sits the step out has none.
    ///
    /// Cost: a few looks at each running request, and for each that joins one at each waiting one. Nothing is allocated while nobody joins or is sent back.
    pub fn schedule<D: Device>(
        &mut self,
        now: Duration,
        queues: &mut Queues,
        memory: &mut SwapSpace<D>,
        batch: &mut Batch,
    ) {
        self.give_up(now, queues, memory);
        self.share_out(queues);
        let sent_back = self.make_room(now, queues, memory);
        let used = self.serve(queues);
        // Whoever was just sent back shows that there is no room for others.
        if !sent_back {
            self.join(now, queues, memory, self.limits.max_step_tokens - used);
        }
        self.build_batch(queues, batch);
        self.note(now, queues, batch);
    }
    // ANCHOR_END: schedule

    fn give_up<D: Device>(&mut self, now: Duration, queues: &mut Queues, memory: &mut SwapSpace<D>) {
        let latest = self.limits.max_wait.and_then(|wait| now.checked_sub(wait));
        if let Some(latest) = latest {
            let gone = queues.give_up(latest, &mut |id| {
                memory.release(id);
            });
            self.stats.timed_out += gone as u64;
        }
    }

    /// The budget among those who run.
    fn share_out(&mut self, queues: &Queues) {
        let scratch = &mut self.scratch;
        scratch.joined.clear();
        scratch.sent_back.clear();
        scratch.missing.clear();
        let missing = queues.running.iter().map(Entry::missing);
        scratch.missing.extend(missing);
        scratch.rows.clear();
        scratch.rows.resize(queues.running.len(), 0);
        fill(
            self.limits.max_step_tokens,
            self.limits.max_chunk_tokens,
            &scratch.missing,
            &mut scratch.rows,
        );
    }

    // ANCHOR: make_room
    /// Reserves memory for the rows of those who run, the oldest first. Where there is none, somebody is sent back. Returns whether anybody was.
    fn make_room<D: Device>(&mut self, now: Duration, queues: &mut Queues, memory: &mut SwapSpace<D>) -> bool {
        let (scratch, policy) = (&mut self.scratch, &*self.policy);
        let mut place = 0;
        while place < queues.running.len() {
            let entry = &queues.running[place];
            let wanted = entry.request.num_computed + scratch.rows[place];
            if scratch.rows[place] == 0 || memory.reserve(entry.id(), wanted) {
                place += 1;
                continue;
            }
            scratch.classes.clear();
            let class = |entry: &Entry| policy.class_of(now, entry.meta.class, entry.arrived);
            scratch.classes.extend(queues.running.iter().map(class));
            let victim = choose_victim(&scratch.classes, place);
            let victim = victim.expect("the oldest fits alone: what does not was refused");
            let mut entry = queues.running.remove(victim);
            scratch.rows.remove(victim);
            send_back(&mut entry, self.limits.preemption, memory, &mut self.stats);
            scratch.sent_back.push(SentBack {
                id: entry.id(),
                stored: entry.stored,
            });
            queues.wait(entry);
        }
        !scratch.sent_back.is_empty()
    }
    // ANCHOR_END: make_room

    /// Puts the rows of those who run on their tenants' accounts, and returns how many these are.
    fn serve(&mut self, queues: &mut Queues) -> usize {
        for place in 0..queues.running.len() {
            let tenant = queues.running[place].meta.tenant;
            queues.serve(tenant, self.scratch.rows[place]);
        }
        self.scratch.rows.iter().sum()
    }

    // ANCHOR: join
    /// Lets waiting requests join in the policy's order. The first that finds no room ends it, so nobody overtakes for ever.
    fn join<D: Device>(&mut self, now: Duration, queues: &mut Queues, memory: &mut SwapSpace<D>, mut budget: usize) {
        self.count_classes(queues);
        while queues.running.len() < self.limits.engine.max_running && budget > 0 {
            let Some(place) = self.next_to_join(now, queues) else {
                return;
            };
            let entry = &mut queues.waiting[place];
            let admission = match entry.is_swapped() {
                true => memory.swap_in(&mut entry.request),
                false => memory.admit(&mut entry.request),
            };
            if admission == Admission::NoRoom {
                return;
            }
            let mut entry = queues.waiting.remove(place);
            entry.stored = 0;
            entry.request.status = Status::Prefilling;
            let rows = (entry.missing()).min(self.limits.max_chunk_tokens).min(budget);
            budget -= rows;
            queues.serve(entry.meta.tenant, rows);
            self.scratch.running_of[usize::from(entry.meta.class.0)] += 1;
            self.scratch.joined.push(entry.id());
            self.stats.admitted += 1;
            let place = queues.run(entry);
            self.scratch.rows.insert(place, rows);
        }
    }

    /// The place of the waiting request that the policy puts first.
    fn next_to_join(&self, now: Duration, queues: &Queues) -> Option<usize> {
        let candidate = |entry: &Entry| {
            let class_running = self.scratch.running_of[usize::from(entry.meta.class.0)];
            entry.candidate(queues.served_rows(entry.meta.tenant), class_running)
        };
        first(&*self.policy, now, queues.waiting.iter().map(candidate))
    }
    // ANCHOR_END: join

    fn count_classes(&mut self, queues: &Queues) {
        self.scratch.running_of.fill(0);
        for entry in &queues.running {
            self.scratch.running_of[usize::from(entry.meta.class.0)] += 1;
        }
    }

    // ANCHOR: build
    /// The rows of a step: of each running request its next part.
    fn build_batch(&mut self, queues: &Queues, batch: &mut Batch) {
        batch.clear();
        for (entry, rows) in queues.running.iter().zip(&self.scratch.rows) {
            if *rows == 0 {
                continue;
            }
            let request = &entry.request;
            let (part, wants_logits) = next_part(request, *rows);
            self.stats.chunks += u64::from(!wants_logits);
            batch.sequences.push(BatchSequence {
                id: request.id,
                first_row: batch.num_rows(),
                num_rows: part.len(),
                wants_logits,
            });
            let tokens = request.tokens().skip(part.start).take(part.len());
            batch.tokens.extend(tokens);
            batch.positions.extend(part);
        }
        self.stats.steps += 1;
        self.stats.rows += batch.num_rows() as u64;
    }
    // ANCHOR_END: build

    /// What was decided so far, counted.
    pub fn stats(&self) -> ScheduleStats {
        self.stats
    }

    /// Who joined in the last step, in the policy's order.
    pub fn joined(&self) -> &[SeqId] {
        &self.scratch.joined
    }

    /// Keeps a trace from now on. It allocates in every step.
    pub fn start_trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// The steps since [`Scheduler::start_trace`].
    pub fn trace(&self) -> &[StepTrace] {
        self.trace.as_deref().unwrap_or_default()
    }

    /// Notes an end that was announced.
    pub fn note_end(&mut self, id: SeqId, reason: FinishReason) {
        if let Some(step) = self.trace.as_mut().and_then(|trace| trace.last_mut()) {
            step.finished.push((id, reason));
        }
    }

    fn note(&mut self, now: Duration, queues: &Queues, batch: &Batch) {
        let Some(trace) = &mut self.trace else {
            return;
        };
        let budget = self.limits.max_step_tokens;
        trace.push(StepTrace {
            step: self.stats.steps - 1,
            now,
            budget: (budget < usize::MAX).then_some(budget),
            computed: shares(&queues.running, batch),
            joined: self.scratch.joined.clone(),
            sent_back: self.scratch.sent_back.clone(),
            waiting: queues.waiting.iter().map(Entry::id).collect(),
            finished: Vec::new(),
        });
    }
}
