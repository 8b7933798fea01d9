//! The engine: requests in, tokens out. Before every pass the engine decides anew which requests are computed.
//!
//! ```text
//! step:
//!     finished requests leave, waiting ones join while there is room, each row gets memory    schedule
//!     one pass over the rows of all scheduled requests                                        forward
//!     one token from each row of logits                                                       choose
//!     each token to its request and to the receiver; finished requests leave                  publish
//! ```
//!
//! A static batch keeps its places until the longest answer is done. Here the place of a request is free again after
//! the step in which it ended, and taken in the next one. Supersedes [`static_batching::generate::generate_batch`].
//! Source: iteration-level scheduling, Orca, Yu et al. 2022, OSDI.
//!
//! One type serves all later lessons. They exchange its parts: the runner `R` computes, the memory `M` and the
//! scheduler `S` decide, and `X` is what a submitter attaches to a request.

use crate::batch::Batch;
use crate::error::{EngineError, Refusal};
use crate::event::{Delivery, Event};
use crate::exercises::step::step;
use crate::limits::EngineLimits;
use crate::memory::Memory;
use crate::queues::Queues;
use crate::request::{Length, Request, SeqId, Status};
use crate::runner::Runner;
use crate::schedule::{FirstCome, Schedule};
use generation::GenerateError;
use std::sync::mpsc::{Receiver, Sender, channel};
use training::TokenId;

/// Chooses the next token of a request from its row of logits `[vocab_size]`. It sees prompt, output and what was
/// attached, and may overwrite the row.
pub type Choice<X = ()> = Box<dyn FnMut(&Request<X>, &mut [f32]) -> Result<TokenId, GenerateError> + Send>;

// ANCHOR: engine
/// Runs requests together.
///
/// The fields are open so that [`step`] can be a plain function, and so that tests and figures can look inside.
pub struct Engine<R, M, S = FirstCome, X = ()> {
    /// What is allowed, the same for all requests.
    pub limits: EngineLimits,
    /// All requests, each in one queue.
    pub queues: Queues<X>,
    /// Which request holds which memory: integers only, no floats.
    pub memory: M,
    /// Decides which rows a step computes.
    pub scheduler: S,
    /// Computes the rows; owns the model and the cache.
    pub runner: R,
    /// Chooses a token from a row of logits.
    pub choose: Choice<X>,
    /// Rows of the step in progress; between two steps, those of the last one.
    pub batch: Batch,
    /// `[sampling]`: the tokens that the step in progress chose, in the order of the batch.
    pub next: Vec<Result<TokenId, GenerateError>>,
    /// Numbers of requests to be cancelled, sent from anywhere; see [`Engine::canceller`].
    cancels: (Sender<SeqId>, Receiver<SeqId>),
    next_id: u64,
    num_steps: u64,
}
// ANCHOR_END: engine

impl<R: Runner, M: Memory> Engine<R, M> {
    /// An engine that serves first come, first served, and chooses greedily.
    ///
    /// # Panics
    /// If `limits` allow no request to run, or the vocabulary is empty.
    pub fn new(runner: R, memory: M, limits: EngineLimits) -> Engine<R, M> {
        Engine::with(runner, memory, FirstCome, limits)
    }
}

impl<R: Runner, M: Memory<X>, S: Schedule<M, X>, X> Engine<R, M, S, X> {
    /// An engine of these parts, which chooses greedily. If memory has less room for one request than
    /// `limits.max_seq_len`, that room is the limit.
    ///
    /// # Panics
    /// If `limits` allow no request to run, or the vocabulary is empty.
    pub fn with(runner: R, memory: M, scheduler: S, limits: EngineLimits) -> Engine<R, M, S, X> {
        // Without a place in the batch every request would wait for ever; rows of logits can not have length 0.
        assert!(limits.max_running >= 1 && limits.vocab_size >= 1, "{limits:?}");
        Engine {
            // Room for a full batch, so that no step of decoding requests allocates.
            queues: Queues::with_capacity(limits.max_running),
            batch: Batch::with_capacity(limits.max_running),
            next: Vec::with_capacity(limits.max_running),
            limits: EngineLimits {
                // A request that memory can not hold is refused at submit, and never waits.
                max_seq_len: limits.max_seq_len.min(memory.max_seq_len()),
                ..limits
            },
            memory,
            scheduler,
            runner,
            choose: Box::new(|_, logits| generation::generate::greedy(logits)),
            cancels: channel(),
            next_id: 0,
            num_steps: 0,
        }
    }

    /// The same engine with another way to choose tokens.
    pub fn with_choice(self, choose: Choice<X>) -> Engine<R, M, S, X> {
        Engine { choose, ..self }
    }

    /// Accepts a request with the default value of `X` attached; see [`Engine::submit_with`].
    ///
    /// # Errors
    /// Those of [`Engine::submit_with`].
    pub fn submit(&mut self, prompt: &[TokenId], length: impl Into<Length>) -> Result<SeqId, Refusal>
    where
        X: Default,
    {
        self.submit_with(prompt, length, X::default())
    }

    /// Accepts a request, to be computed from the next step on. Its answer has at most `length` tokens, or the engine's
    /// cap if that is less; [`Length::exactly`] goes on after an end-of-text token. A request that needs no token, because it asks for none or because its prompt
    /// fills the context, ends at once.
    ///
    /// # Errors
    /// [`Refusal`]: an empty prompt, one that is too long, a token outside the vocabulary.
    pub fn submit_with(
        &mut self,
        prompt: &[TokenId],
        length: impl Into<Length>,
        attached: X,
    ) -> Result<SeqId, Refusal> {
        let length = length.into();
        // A refused request gets no number.
        self.limits.check_prompt(prompt)?;
        let id = SeqId(self.next_id);
        self.next_id += 1;
        // The engine's cap holds, whatever the request asks for.
        let max_new_tokens = length.max_new_tokens.min(self.limits.max_new_tokens);
        let mut request = Request::with(id, prompt, max_new_tokens, self.limits.max_seq_len, attached);
        request.ignore_eos = length.ignore_eos;
        match request.exhausted(self.limits.max_seq_len) {
            Some(reason) => {
                request.finish(reason);
                // It never waits and never holds memory; the next step reports its end.
                self.queues.ended.push(request);
            }
            None => self.queues.waiting.push_back(request),
        }
        Ok(id)
    }

    /// Ends a request and frees its memory at once; the next step reports its end. Returns whether the request was
    /// alive: a second cancel, or an unknown number, changes nothing. [`Engine::canceller`] cancels while a step runs.
    pub fn cancel(&mut self, id: SeqId) -> bool {
        // No pass computes now, so the request may leave at once.
        let was_alive = self.queues.cancel(id);
        self.leave();
        was_alive
    }

    /// A handle that cancels requests from any thread: send the number of a request through it. The engine reads the
    /// numbers before it schedules, and once more between computing and publishing. So a request that is cancelled
    /// while the model works on it gets no token from that pass.
    pub fn canceller(&self) -> Sender<SeqId> {
        self.cancels.0.clone()
    }

    /// One pass for all scheduled requests; see [`step`]. Allocates nothing once a step of as many rows, over tables as
    /// long, has been taken.
    ///
    /// # Errors
    /// [`EngineError`]: the runner failed. The engine can not go on after that; its owner starts a new one.
    pub fn step(&mut self, on_event: &mut dyn FnMut(Event<'_>) -> Delivery) -> Result<(), EngineError> {
        // A step that failed is not counted.
        step(self, on_event)?;
        self.num_steps += 1;
        Ok(())
    }

    /// Steps until every request is over.
    ///
    /// # Errors
    /// That of the first step that fails.
    ///
    /// # Panics
    /// If requests wait, none runs and none joins, so that it would go on for ever: a bug of the scheduler or of the
    /// memory.
    pub fn run(&mut self, on_event: &mut dyn FnMut(Event<'_>) -> Delivery) -> Result<(), EngineError> {
        while !self.is_idle() {
            self.step(on_event)?;
            // If a step computes no row while requests wait, the next one computes none either.
            let waiting = self.queues.waiting.len();
            assert!(
                !self.batch.is_empty() || self.is_idle(),
                "no row was computed and {waiting} requests wait"
            );
        }
        Ok(())
    }

    /// Whether all requests are over and their ends reported.
    pub fn is_idle(&self) -> bool {
        self.queues.is_empty()
    }

    /// Number of steps taken.
    pub fn num_steps(&self) -> u64 {
        self.num_steps
    }

    // ANCHOR: parts
    /// First part of a step: finished requests leave, and the scheduler decides which rows are computed and takes the
    /// memory for them.
    pub fn schedule(&mut self) {
        self.take_cancellations();
        // First out, then in: a place that becomes free here is taken in this step.
        self.leave();
        self.batch.clear();
        (self.scheduler).schedule(&mut self.queues, &mut self.memory, &self.limits, &mut self.batch);
        // After scheduling, as only now it is known which sequences have a row and how far each has grown.
        self.memory.complete(&mut self.batch);
    }

    /// Ends the requests that were cancelled through [`Engine::canceller`]. None of them moves: the batch and the
    /// running queue still agree.
    pub fn take_cancellations(&mut self) {
        for id in self.cancels.1.try_iter() {
            self.queues.cancel(id);
        }
    }

    /// Counts the rows of the pass as computed, for the requests and for memory.
    pub fn note_computed(&mut self) {
        // Sequences stand in the order of the running queue, so one walk over the queue finds all requests.
        let mut running = self.queues.running.iter_mut();
        for sequence in &self.batch.sequences {
            let request = running.find(|request| request.id == sequence.id);
            let request = request.expect("requests leave only between passes");
            // Also for a request that was cancelled meanwhile: its rows were computed.
            request.advance(sequence.num_rows);
            self.memory.note_computed(request);
        }
    }

    /// Moves finished requests out of the waiting and the running queue and frees their memory. Every request that
    /// holds memory leaves here, so its memory is freed for whatever reason it ends.
    pub fn leave(&mut self) {
        let memory = &mut self.memory;
        self.queues.leave(|request| {
            memory.free(request.id);
        });
    }

    /// Last part of a step: reports every request that has ended since the last report, also one whose receiver is
    /// gone.
    pub fn announce(&mut self, on_event: &mut dyn FnMut(Event<'_>) -> Delivery) {
        for request in self.queues.ended.drain(..) {
            let Status::Finished(reason) = request.status else {
                panic!("request {} is in the queue of ended ones and has not ended", request.id);
            };
            let (id, output) = (request.id, request.output.as_slice());
            // The receiver's answer is ignored: `ReceiverGone` would end a request that has ended already.
            let _ = on_event(Event::Finished { id, reason, output });
        }
    }
    // ANCHOR_END: parts

    /// Checks what must hold between two steps: each request is in one queue, and each running request holds memory.
    ///
    /// # Panics
    /// When a rule is broken: a bug of the workbook.
    pub fn check_invariants(&self) {
        self.queues.check_invariants();
        self.memory.check_invariants();
        self.batch.check_invariants();
        assert!(self.queues.running.len() <= self.limits.max_running);
        for request in &self.queues.running {
            assert!(self.memory.holds(request.id), "{} runs without memory", request.id);
        }
        // A waiting request may hold memory too, where a memory keeps it for later. An ended one holds none, and no
        // holder is missing from the queues.
        let holders = (self.queues.running.iter().chain(&self.queues.waiting)).filter(|r| self.memory.holds(r.id));
        assert_eq!(
            self.memory.num_holders(),
            holders.count(),
            "memory is held by an unknown request"
        );
    }
}
