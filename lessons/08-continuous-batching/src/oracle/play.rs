//! Plans of arrivals and cancellations, played against an engine, with everything checked that a client could complain of.

use super::Oracle;
use super::expected::answer;
use crate::batch::Batch;
use crate::cache::KvCache;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::event::{Delivery, Event};
use crate::limits::EngineLimits;
use crate::mailbox::Canceller;
use crate::memory::Memory;
use crate::request::{FinishReason, SeqId};
use crate::runner::Runner;
use training::TokenId;

/// A request of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The step before which it is submitted.
    pub arrives: u64,
    /// Its prompt.
    pub prompt: Vec<TokenId>,
    /// Most tokens of its answer.
    pub max_new_tokens: usize,
    /// How it is ended early, if it is. What comes after its end does nothing.
    pub cancel: Option<Cancel>,
}

/// A way to end a request early. Steps are counted from its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// [`Engine::cancel`] before this step: while it waits, or decodes.
    Before(u64),
    /// A [`Canceller`] while this step computes: also while its prompt is computed.
    During(u64),
    /// The receiver takes so many tokens and is gone at the next one.
    Gone(usize),
}

/// The oracle, with cancels that arrive while it computes.
pub struct Interrupted<R> {
    /// Who computes.
    pub inner: R,
    /// Whom to cancel in the next pass.
    pub during: Vec<SeqId>,
    /// Where to; the engine's own.
    pub canceller: Option<Canceller>,
}

impl<R> Interrupted<R> {
    /// Nobody is cancelled yet.
    pub fn new(inner: R) -> Interrupted<R> {
        Interrupted {
            inner,
            during: Vec::new(),
            canceller: None,
        }
    }
}

impl<M, R: Runner<M>> Runner<M> for Interrupted<R> {
    fn forward(&mut self, memory: &mut M, batch: &Batch) -> Result<&mut [f32], EngineError> {
        if let Some(canceller) = &self.canceller {
            self.during.drain(..).for_each(|id| canceller.cancel(id));
        }
        self.inner.forward(memory, batch)
    }
}

/// What a client has seen of its request.
#[derive(Clone, Debug, Default)]
struct Seen {
    id: Option<SeqId>,
    tokens: Vec<TokenId>,
    end: Option<FinishReason>,
    /// From this step on no token may come.
    silent_from: Option<u64>,
}

/// What [`play`] does with an engine over an [`Interrupted`] oracle. A trait, so that engines of later lessons are held to the same plans.
pub trait Played {
    /// Where its requests keep their keys and values.
    type Memory: Memory;

    /// Called once, before anything else: tells the runner where its cancels go.
    fn prepare(&mut self);

    /// Submits a request of the plan, in this step.
    fn submit(&mut self, step: u64, planned: &Planned) -> SeqId;

    /// Cancels a request between two steps.
    fn cancel(&mut self, id: SeqId) -> bool;

    /// Cancels a request while the next step computes.
    fn cancel_during(&mut self, id: SeqId);

    /// One step.
    fn step(&mut self, step: u64, on_event: &mut dyn FnMut(Event<'_>) -> Delivery);

    /// Whether all requests are over and announced.
    fn is_idle(&self) -> bool;

    /// What is allowed.
    fn limits(&self) -> &EngineLimits;

    /// Where keys and values are kept.
    fn memory(&mut self) -> &mut Self::Memory;

    /// The engine's own checks.
    fn check_invariants(&self);

    /// Steps after the last arrival in which every plan has to end: all of them one after the other.
    fn most_steps(&self, plan: &[Planned]) -> u64 {
        plan.iter()
            .map(|planned| planned.max_new_tokens.min(self.limits().max_seq_len) as u64 + 2)
            .sum()
    }
}

impl<M: Memory + KvCache> Played for Engine<Interrupted<Oracle>, M> {
    type Memory = M;

    fn prepare(&mut self) {
        self.runner.canceller = Some(self.canceller());
    }

    fn submit(&mut self, _step: u64, planned: &Planned) -> SeqId {
        Engine::submit(self, &planned.prompt, planned.max_new_tokens).expect("the plan asks for what can be answered")
    }

    fn cancel(&mut self, id: SeqId) -> bool {
        Engine::cancel(self, id)
    }

    fn cancel_during(&mut self, id: SeqId) {
        self.runner.during.push(id);
    }

    fn step(&mut self, _step: u64, on_event: &mut dyn FnMut(Event<'_>) -> Delivery) {
        Engine::step(self, on_event).expect("the oracle computes every batch");
    }

    fn is_idle(&self) -> bool {
        Engine::is_idle(self)
    }

    fn limits(&self) -> &EngineLimits {
        &self.limits
    }

    fn memory(&mut self) -> &mut M {
        &mut self.memory
    }

    fn check_invariants(&self) {
        Engine::check_invariants(self);
    }
}

/// Plays a plan to its end and checks that
/// - each request gets the tokens that it gets alone, in order, and one end, with the same reason; a cancelled one gets the first of them;
/// - whoever is cancelled gets nothing more, and its end is announced in the same step or the next;
/// - a second cancel, and one of a number that nobody has, changes nothing;
/// - the invariants hold after every step;
/// - nothing is held at the end, and the end comes.
///
/// `after_step` is called with the memory after each step, for checks and for mischief of one's own.
///
/// # Panics
/// When one of these does not hold: that is the point.
pub fn play<E: Played>(engine: &mut E, plan: &[Planned], after_step: &mut dyn FnMut(&mut E::Memory)) {
    engine.prepare();
    let mut seen = vec![Seen::default(); plan.len()];
    let latest = plan.iter().map(|planned| planned.arrives).max().unwrap_or(0);
    let most = latest + engine.most_steps(plan);
    let mut step = 0;
    while step <= latest || !engine.is_idle() {
        assert!(step <= most, "the end does not come");
        before_step(engine, plan, &mut seen, step);
        engine.step(step, &mut |event| note(plan, &mut seen, step, event));
        engine.check_invariants();
        after_step(engine.memory());
        step += 1;
    }
    assert_eq!(engine.memory().num_holders(), 0, "something is still held");
    for (planned, seen) in plan.iter().zip(&seen) {
        check(planned, seen, engine.limits());
    }
}

/// Submits and cancels what the plan says for this step.
fn before_step<E: Played>(engine: &mut E, plan: &[Planned], seen: &mut [Seen], step: u64) {
    for (planned, seen) in plan.iter().zip(&mut *seen) {
        if planned.arrives == step {
            seen.id = Some(engine.submit(step, planned));
        }
        let Some(id) = seen.id else { continue };
        match planned.cancel {
            Some(Cancel::Before(wait)) if planned.arrives + wait == step => {
                let was_alive = engine.cancel(id);
                assert!(seen.end.is_none() || !was_alive, "{id} ended twice");
                assert!(!engine.cancel(id), "a second cancel of {id} did something");
                seen.silent_from = Some(step);
            }
            Some(Cancel::During(wait)) if planned.arrives + wait == step => {
                engine.cancel_during(id);
                engine.cancel_during(id);
                seen.silent_from = Some(step);
            }
            _ => {}
        }
    }
    assert!(!engine.cancel(SeqId(u64::MAX)), "nobody has this number");
    engine.check_invariants();
}

/// A client's answer to an event.
fn note(plan: &[Planned], seen: &mut [Seen], step: u64, event: Event<'_>) -> Delivery {
    let id = event.id();
    let Some(index) = seen.iter().position(|seen| seen.id == Some(id)) else {
        panic!("{event:?} is about nobody's request");
    };
    let seen = &mut seen[index];
    assert_eq!(seen.end, None, "{event:?} after the end");
    match event {
        Event::Token { token, .. } => {
            assert!(
                seen.silent_from.is_none_or(|from| step < from),
                "{event:?} after its cancel"
            );
            if plan[index].cancel == Some(Cancel::Gone(seen.tokens.len())) {
                seen.silent_from = Some(step);
                return Delivery::ReceiverGone;
            }
            seen.tokens.push(token);
        }
        Event::Finished { reason, output, .. } => {
            let given = &output[..seen.tokens.len().min(output.len())];
            assert_eq!(given, seen.tokens, "{id}: the output is what was told");
            assert!(
                seen.silent_from.is_none_or(|from| step <= from + 1),
                "{id} ended in step {step}, cancelled in {:?}",
                seen.silent_from
            );
            seen.end = Some(reason);
        }
    }
    Delivery::Taken
}

/// Compares what a client has seen with what it gets alone.
fn check(planned: &Planned, seen: &Seen, limits: &EngineLimits) {
    let (tokens, reason) = answer(&planned.prompt, planned.max_new_tokens, limits);
    let Some(end) = seen.end else {
        panic!("{planned:?} has no end: {seen:?}");
    };
    if end == FinishReason::Cancelled {
        assert!(seen.silent_from.is_some(), "nobody cancelled {planned:?}");
        assert!(
            tokens.starts_with(&seen.tokens),
            "{planned:?} got {:?}, alone {tokens:?}",
            seen.tokens
        );
    } else {
        assert_eq!((&seen.tokens, end), (&tokens, reason), "{planned:?}");
    }
}
