//! The engine: lesson 08's, with a budget for each step, an order of one's choice, and memory that can be taken back.
//!
//! Supersedes [`continuous_batching::engine::Engine`]. What is new: a step computes at most so many rows, so a prompt may take several; a request may
//! sit a step out, or be sent back and come again. What stays: the forward pass, requests, events, and every token of every answer.

use crate::entry::{Entry, Meta};
use crate::limits::StepLimits;
use crate::memory::{Device, SwapSpace};
use crate::policy::Policy;
use crate::queues::Queues;
use crate::schedule::Scheduler;
use crate::stats::ScheduleStats;
use crate::trace::StepTrace;
use continuous_batching::batch::Batch;
use continuous_batching::engine::Choice;
use continuous_batching::error::{EngineError, Refusal};
use continuous_batching::event::{Delivery, Event};
use continuous_batching::limits::EngineLimits;
use continuous_batching::mailbox::Canceller;
use continuous_batching::memory::Memory;
use continuous_batching::request::{FinishReason, Request, SeqId, Status};
use continuous_batching::runner::Runner;
use std::time::Duration;
use training::TokenId;

// ANCHOR: engine
/// Runs requests together. `R` computes; `D` holds keys and values.
pub struct Engine<R, D> {
    /// Who decides.
    pub scheduler: Scheduler,
    /// Who waits, runs, has ended.
    pub queues: Queues,
    /// Blocks, and the host pool behind them.
    pub memory: SwapSpace<D>,
    /// The model.
    pub runner: R,
    /// What the step in progress computes.
    pub batch: Batch,
    choose: Choice,
    canceller: Canceller,
    next: Vec<TokenId>,
    next_id: u64,
    /// Whether the last step failed.
    has_failed: bool,
}
// ANCHOR_END: engine

impl<R: Runner<SwapSpace<D>>, D: Device> Engine<R, D> {
    /// An engine that chooses greedily.
    ///
    /// # Panics
    /// If nothing may run, or there is not a row for each that may.
    pub fn new(runner: R, memory: SwapSpace<D>, limits: StepLimits, policy: Box<dyn Policy>) -> Engine<R, D> {
        let mut limits = limits;
        limits.engine.max_seq_len = limits.engine.max_seq_len.min(memory.max_seq_len());
        let most = limits.engine.max_running;
        Engine {
            scheduler: Scheduler::new(limits, policy),
            queues: Queues::default(),
            memory,
            runner,
            batch: Batch::with_capacity(most),
            choose: Box::new(|_, logits| generation::generate::greedy(logits)),
            canceller: Canceller::with_capacity(most),
            next: Vec::with_capacity(most),
            next_id: 0,
            has_failed: false,
        }
    }

    /// What is allowed to requests.
    pub fn limits(&self) -> &EngineLimits {
        &self.scheduler.limits.engine
    }

    /// The engine with another way to choose.
    pub fn with_choice(self, choose: Choice) -> Engine<R, D> {
        Engine { choose, ..self }
    }

    /// Accepts a request at time `now`; as lesson 08's engine, with what a policy wants to know.
    ///
    /// # Errors
    /// An empty prompt, one that is too long for the model or for all of memory, a token that the model does not know.
    pub fn submit(
        &mut self,
        now: Duration,
        meta: Meta,
        prompt: &[TokenId],
        max_new_tokens: usize,
    ) -> Result<SeqId, Refusal> {
        let limits = &self.scheduler.limits.engine;
        limits.check_prompt(prompt)?;
        let id = SeqId(self.next_id);
        self.next_id += 1;
        let max_new_tokens = max_new_tokens.min(limits.max_new_tokens);
        let mut request = Request::new(id, prompt, max_new_tokens, limits.max_seq_len);
        let over = request.exhausted(limits.max_seq_len);
        if let Some(reason) = over {
            request.finish(reason);
        }
        let entry = Entry {
            request,
            meta,
            arrived: now,
            preemptions: 0,
            stored: 0,
        };
        match over {
            Some(_) => self.queues.ended.push(entry),
            None => {
                self.queues.welcome(meta.tenant);
                self.memory.device_mut().share_among(id, meta.tenant);
                self.queues.wait(entry);
            }
        }
        Ok(id)
    }

    /// Ends a request and frees what it holds, on the device or in the host pool. Returns whether it was alive.
    pub fn cancel(&mut self, id: SeqId) -> bool {
        let memory = &mut self.memory;
        let was_alive = self.queues.cancel(id, &mut |id| {
            memory.release(id);
        });
        self.leave();
        was_alive
    }

    /// A handle to cancel from elsewhere.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Whether all requests are over and announced.
    pub fn is_idle(&self) -> bool {
        self.queues.is_empty()
    }

    /// What the scheduler did so far.
    pub fn stats(&self) -> ScheduleStats {
        self.scheduler.stats()
    }

    /// Keeps a trace from now on. It allocates in every step.
    pub fn start_trace(&mut self) {
        self.scheduler.start_trace();
    }

    /// The steps since [`Engine::start_trace`].
    pub fn trace(&self) -> &[StepTrace] {
        self.scheduler.trace()
    }

    // ANCHOR: step
    /// One pass: schedule, forward, choose, publish. `now` is what policies compare times of arrival with.
    ///
    /// # Errors
    /// What the runner or the choice returns. Nothing is published then, and the next call tries the same step again, without newcomers.
    pub fn step(&mut self, now: Duration, on_event: &mut dyn FnMut(Event<'_>) -> Delivery) -> Result<(), EngineError> {
        self.take_cancellations();
        self.leave();
        if !self.takes_up_again() {
            (self.scheduler).schedule(now, &mut self.queues, &mut self.memory, &mut self.batch);
        }
        self.has_failed = true;

        let logits = self.runner.forward(&mut self.memory, &self.batch)?;

        self.next.clear();
        let mut rows = logits.chunks_exact_mut(self.scheduler.limits.engine.vocab_size);
        let mut running = self.queues.running.iter();
        for sequence in self.batch.sampling() {
            let entry = running.find(|entry| entry.id() == sequence.id);
            let (entry, row) = entry.zip(rows.next()).expect("a row for each that samples");
            let token = (self.choose)(&entry.request, row);
            self.next.push(token.map_err(|source| EngineError::Choose {
                id: sequence.id,
                source,
            })?);
        }

        self.take_cancellations();
        self.publish(on_event);
        self.leave();
        self.announce(on_event);
        self.has_failed = false;
        Ok(())
    }
    // ANCHOR_END: step

    /// After a step that failed, takes up what is left of its batch; it was decided and paid for. Returns whether there is anything left.
    fn takes_up_again(&mut self) -> bool {
        if !self.has_failed {
            return false;
        }
        let running = &self.queues.running;
        self.batch.retain(|id| running.iter().any(|entry| entry.id() == id));
        !self.batch.is_empty()
    }

    fn take_cancellations(&mut self) {
        let (queues, memory) = (&mut self.queues, &mut self.memory);
        self.canceller.drain(|id| {
            queues.cancel(id, &mut |id| {
                memory.release(id);
            });
        });
    }

    /// Notes what was computed, and gives each request that has a new token its token.
    fn publish(&mut self, on_event: &mut dyn FnMut(Event<'_>) -> Delivery) {
        let mut next = self.next.iter();
        let mut running = self.queues.running.iter_mut();
        for sequence in &self.batch.sequences {
            let entry = running.find(|entry| entry.id() == sequence.id);
            let entry = entry.expect("nobody leaves while a step computes");
            let token = sequence.wants_logits.then(|| *next.next().expect("a token for each"));
            if entry.request.is_finished() {
                continue;
            }
            entry.request.num_computed += sequence.num_rows;
            let Some(token) = token else {
                continue;
            };
            let id = sequence.id;
            if let Some(token) = entry.request.accept(token, &self.scheduler.limits.engine)
                && on_event(Event::Token { id, token }) == Delivery::ReceiverGone
            {
                entry.request.finish(FinishReason::Cancelled);
            }
        }
    }

    fn leave(&mut self) {
        let memory = &mut self.memory;
        self.queues.leave(|id| {
            let held = memory.release(id);
            assert!(held, "{id} ran without memory");
        });
    }

    fn announce(&mut self, on_event: &mut dyn FnMut(Event<'_>) -> Delivery) {
        for entry in self.queues.ended.drain(..) {
            let Status::Finished(reason) = entry.request.status else {
                panic!("{entry:?} is among the ended ones and has not ended");
            };
            let (id, output) = (entry.id(), entry.request.output.as_slice());
            let _ = on_event(Event::Finished { id, reason, output });
            self.scheduler.note_end(id, reason);
        }
    }

    /// Checks what must hold between two steps.
    ///
    /// # Panics
    /// When a rule is broken: our own bug.
    pub fn check_invariants(&self) {
        self.queues.check_invariants();
        self.memory.check_invariants();
        self.batch.check_invariants();
        assert!(self.queues.running.len() <= self.limits().max_running);
        for entry in &self.queues.running {
            assert!(self.memory.holds(entry.id()), "{} runs without memory", entry.id());
        }
        let swapped = self.queues.waiting.iter().filter(|entry| entry.is_swapped()).count();
        assert_eq!(
            swapped,
            self.memory.num_stored(),
            "the host pool holds the swapped ones"
        );
        assert_eq!(self.memory.num_holders(), self.queues.running.len() + swapped);
    }
}
