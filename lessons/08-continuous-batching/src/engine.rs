//! The engine: requests in, tokens out, and who is computed is decided anew at every step.
//!
//! ```text
//! step:
//!     who was cancelled leaves; waiting requests join while there is room          schedule
//!     one pass over the rows of all running requests                              forward
//!     one token from each row of logits                                           choose
//!     each token to its request and to whoever listens; who is finished leaves     publish
//! ```
//!
//! A static batch keeps its places until the longest answer is done. Here a place is free again after the step in which its request ended, and
//! taken in the next one. Supersedes [`static_batching::generate::generate_batch`]. Source: iteration-level scheduling, Orca, Yu et al. 2022, OSDI.

use crate::batch::Batch;
use crate::error::{EngineError, Refusal};
use crate::event::{Delivery, Event};
use crate::limits::EngineLimits;
use crate::mailbox::Canceller;
use crate::memory::Memory;
use crate::queues::Queues;
use crate::request::{Request, SeqId};
use crate::runner::Runner;
use crate::scheduler::{Scheduler, first_come_first_served};
use crate::step::step;
use crate::trace::StepTrace;
use generation::GenerateError;
use training::TokenId;

/// Chooses a token of a request from its row of logits `[vocab_size]`. It sees the request, prompt and output apart, and may write on the row.
pub type Choice = Box<dyn FnMut(&Request, &mut [f32]) -> Result<TokenId, GenerateError> + Send>;

// ANCHOR: engine
/// Runs requests together. `R` computes, `M` is the memory that each running request holds a part of.
///
/// The fields are open so that [`step`] can be a plain function; nobody else needs to write them.
pub struct Engine<R, M> {
    /// What is allowed.
    pub limits: EngineLimits,
    /// Every request, each in one queue.
    pub queues: Queues,
    /// Keys and values, or only their number.
    pub memory: M,
    /// The model.
    pub runner: R,
    /// What the step in progress computes; the last step's until the next one.
    pub batch: Batch,
    /// `[sampling]`: the tokens that the step chose.
    pub next: Vec<TokenId>,
    /// Who decides.
    pub scheduler: Scheduler<M>,
    /// How a token is chosen.
    pub choose: Choice,
    pub(crate) canceller: Canceller,
    next_id: u64,
    pub(crate) num_steps: u64,
    /// Whether the last step failed.
    pub(crate) has_failed: bool,
    pub(crate) trace: Option<Vec<StepTrace>>,
}
// ANCHOR_END: engine

/// What a step computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepReport {
    /// Sequences in the batch.
    pub sequences: usize,
    /// Their rows.
    pub rows: usize,
    /// Rows of the sequences that had more than one: prompts, nearly always.
    pub prompt_rows: usize,
}

impl<R: Runner<M>, M: Memory> Engine<R, M> {
    /// An engine that serves first who came first, and chooses greedily. Where memory holds less than the model's context for one request, that is the limit.
    ///
    /// # Panics
    /// If nothing may run.
    pub fn new(runner: R, memory: M, limits: EngineLimits) -> Engine<R, M> {
        assert!(limits.max_running >= 1 && limits.vocab_size >= 1, "{limits:?}");
        Engine {
            queues: Queues::with_capacity(limits.max_running),
            batch: Batch::with_capacity(limits.max_running),
            next: Vec::with_capacity(limits.max_running),
            canceller: Canceller::with_capacity(limits.max_running),
            limits: EngineLimits {
                max_seq_len: limits.max_seq_len.min(memory.max_seq_len()),
                ..limits
            },
            memory,
            runner,
            scheduler: Box::new(first_come_first_served),
            choose: Box::new(|_, logits| generation::generate::greedy(logits)),
            next_id: 0,
            num_steps: 0,
            has_failed: false,
            trace: None,
        }
    }

    /// The engine with another way to choose.
    pub fn with_choice(self, choose: Choice) -> Engine<R, M> {
        Engine { choose, ..self }
    }

    /// The engine with another scheduler.
    pub fn with_scheduler(self, scheduler: Scheduler<M>) -> Engine<R, M> {
        Engine { scheduler, ..self }
    }

    /// Accepts a request, to be computed from the next step on. It is answered with at most `max_new_tokens` tokens, or the engine's cap if that is
    /// less. A request that needs no token, because it asks for none or because its prompt fills the context, ends at once and computes nothing.
    ///
    /// # Errors
    /// An empty prompt, one that is too long, a token that the model does not know.
    pub fn submit(&mut self, prompt: &[TokenId], max_new_tokens: usize) -> Result<SeqId, Refusal> {
        self.limits.check_prompt(prompt)?;
        let id = SeqId(self.next_id);
        self.next_id += 1;
        let max_new_tokens = max_new_tokens.min(self.limits.max_new_tokens);
        let mut request = Request::new(id, prompt, max_new_tokens, self.limits.max_seq_len);
        match request.exhausted(self.limits.max_seq_len) {
            Some(reason) => {
                request.finish(reason);
                self.queues.ended.push(request);
            }
            None => self.queues.waiting.push_back(request),
        }
        Ok(id)
    }

    /// Ends a request and frees what it holds, at once. Its end is announced in the next step. Returns whether it was alive: a second cancel and a
    /// number that nobody has change nothing. [`Engine::canceller`] does it while a step runs.
    pub fn cancel(&mut self, id: SeqId) -> bool {
        let was_alive = self.queues.cancel(id);
        self.leave();
        was_alive
    }

    /// A handle to cancel from elsewhere.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// One pass for all running requests; see the module. Allocates nothing once as many rows have been computed before.
    ///
    /// # Errors
    /// As [`EngineError`] says: nothing is published then, and the next call tries the same step again, without newcomers.
    pub fn step(&mut self, on_event: &mut dyn FnMut(Event<'_>) -> Delivery) -> Result<StepReport, EngineError> {
        let result = step(self, on_event);
        self.has_failed = result.is_err();
        result?;
        self.num_steps += 1;
        let rows = self.batch.sequences.iter().map(|sequence| sequence.num_rows);
        Ok(StepReport {
            sequences: self.batch.sequences.len(),
            rows: self.batch.num_rows(),
            prompt_rows: rows.filter(|rows| *rows > 1).sum(),
        })
    }

    /// Steps until nothing is left to do. A request for which no token can be chosen is cancelled, and the others are answered to their end.
    ///
    /// # Errors
    /// Those of [`Engine::step`]: the first one, once all others are answered, where it was about a single request.
    ///
    /// # Panics
    /// If requests wait, nobody runs and nobody joins: it would go on for ever. That is a bug of who decides or of the memory.
    pub fn run(&mut self, on_event: &mut dyn FnMut(Event<'_>) -> Delivery) -> Result<(), EngineError> {
        let mut failed = None;
        while !self.is_idle() {
            let report = match self.step(on_event) {
                Err(EngineError::Choose { id, source }) => {
                    self.cancel(id);
                    failed.get_or_insert(EngineError::Choose { id, source });
                    continue;
                }
                report => report?,
            };
            assert!(
                report.rows > 0 || self.is_idle(),
                "nothing was computed and {} requests wait: nobody will ever join",
                self.queues.waiting.len()
            );
        }
        failed.map_or(Ok(()), Err)
    }

    /// Whether all requests are over and announced.
    pub fn is_idle(&self) -> bool {
        self.queues.is_empty()
    }

    /// Steps taken.
    pub fn num_steps(&self) -> u64 {
        self.num_steps
    }

    /// Keeps a trace from now on. It allocates in every step.
    pub fn start_trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// The steps since [`Engine::start_trace`].
    pub fn trace(&self) -> &[StepTrace] {
        self.trace.as_deref().unwrap_or_default()
    }
}
