//! The engine: lesson 08's, with a budget for each step, an order of one's choice, and memory that can be taken back.
//!
//! Supersedes [`continuous_batching::engine::Engine`]. What is new: a step computes at most so many rows, so a prompt may take several; a request may
//! sit a step out, or be sent back and come again. What stays: the forward pass, requests, events, and every token of every answer.

use crate::entry::{Entry, Meta};
use crate::limits::StepLimits;
use crate::memory::{Device, SwapSpace};
use crate::policy::Policy;
use crate::queues::Queues;
use crate::schedule::{Scratch, schedule};
use crate::stats::ScheduleStats;
use continuous_batching::batch::Batch;
use continuous_batching::engine::Choice;
use continuous_batching::error::{EngineError, Refusal};
use continuous_batching::event::{Delivery, Event};
use continuous_batching::mailbox::Canceller;
use continuous_batching::memory::Memory;
use continuous_batching::request::{FinishReason, Request, SeqId, Status};
use continuous_batching::runner::Runner;
use std::time::Duration;
use training::TokenId;

// ANCHOR: engine
/// Runs requests together. `R` computes; `D` holds keys and values.
pub struct Engine<R, D> {
    /// What is allowed.
    pub limits: StepLimits,
    /// Who waits, runs, has ended.
    pub queues: Queues,
    /// Blocks, and the host pool behind them.
    pub memory: SwapSpace<D>,
    /// The model.
    pub runner: R,
    /// What the step in progress computes.
    pub batch: Batch,
    policy: Box<dyn Policy>,
    choose: Choice,
    canceller: Canceller,
    scratch: Scratch,
    next: Vec<TokenId>,
    next_id: u64,
    stats: ScheduleStats,
}
// ANCHOR_END: engine

impl<R: Runner<SwapSpace<D>>, D: Device> Engine<R, D> {
    /// An engine that chooses greedily.
    ///
    /// # Panics
    /// If nothing may run.
    pub fn new(
        runner: R,
        memory: SwapSpace<D>,
        limits: StepLimits,
        policy: Box<dyn Policy>,
    ) -> Engine<R, D> {
        assert!(
            limits.engine.max_running >= 1 && limits.engine.vocab_size >= 1,
            "{limits:?}"
        );
        assert!(
            limits.max_step_tokens >= limits.engine.max_running,
            "{limits:?}"
        );
        assert!(limits.max_chunk_tokens >= 1, "{limits:?}");
        let mut limits = limits;
        limits.engine.max_seq_len = limits.engine.max_seq_len.min(memory.max_seq_len());
        Engine {
            canceller: Canceller::with_capacity(limits.engine.max_running),
            limits,
            queues: Queues::default(),
            memory,
            runner,
            batch: Batch::default(),
            policy,
            choose: Box::new(|_, logits| generation::generate::greedy(logits)),
            scratch: Scratch::default(),
            next: Vec::new(),
            next_id: 0,
            stats: ScheduleStats::default(),
        }
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
        let limits = &self.limits.engine;
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
            is_swapped: false,
        };
        match over {
            Some(_) => self.queues.ended.push(entry),
            None => self.queues.wait(entry),
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
        self.stats
    }

    // ANCHOR: step
    /// One pass: schedule, forward, choose, publish. `now` is what policies compare times of arrival with.
    ///
    /// # Errors
    /// What the runner or the choice returns. Nothing is published then, and the step can be tried again.
    pub fn step(
        &mut self,
        now: Duration,
        on_event: &mut dyn FnMut(Event<'_>) -> Delivery,
    ) -> Result<(), EngineError> {
        self.take_cancellations();
        self.leave();
        self.schedule(now);
        let logits = self.runner.forward(&mut self.memory, &self.batch)?;

        self.next.clear();
        let mut rows = logits.chunks_exact_mut(self.limits.engine.vocab_size);
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
        Ok(())
    }
    // ANCHOR_END: step

    fn schedule(&mut self, now: Duration) {
        schedule(
            now,
            &self.limits,
            &*self.policy,
            &mut self.queues,
            &mut self.memory,
            &mut self.scratch,
            &mut self.batch,
            &mut self.stats,
        );
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
            *self.queues.served.entry(entry.meta.tenant).or_default() += sequence.num_rows as u64;
            let token = sequence
                .wants_logits
                .then(|| *next.next().expect("a token for each"));
            if entry.request.is_finished() {
                continue;
            }
            entry.request.num_computed += sequence.num_rows;
            let Some(token) = token else {
                self.stats.chunks += 1;
                continue;
            };
            let id = sequence.id;
            if let Some(token) = entry.request.accept(token, &self.limits.engine)
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
        assert!(self.queues.running.len() <= self.limits.engine.max_running);
        for entry in &self.queues.running {
            assert!(
                self.memory.holds(entry.id()),
                "{} runs without memory",
                entry.id()
            );
        }
        let swapped = self
            .queues
            .waiting
            .iter()
            .filter(|entry| entry.is_swapped)
            .count();
        assert_eq!(
            swapped,
            self.memory.num_stored(),
            "the host pool holds the swapped ones"
        );
        assert_eq!(
            self.memory.num_holders(),
            self.queues.running.len() + swapped
        );
    }
}
