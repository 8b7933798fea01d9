//! Plans of arrivals and cancellations, played against an engine. Everything that a client sees is checked.

use super::expected::answer;
use crate::batch::Batch;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::event::{Delivery, Event};
use crate::limits::EngineLimits;
use crate::memory::Memory;
use crate::request::{FinishReason, SeqId};
use crate::runner::Runner;
use crate::schedule::Schedule;
use std::sync::mpsc::Sender;
use training::TokenId;

/// A request of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The step before which it is submitted.
    pub arrives: u64,
    /// Tokens of the prompt.
    pub prompt: Vec<TokenId>,
    /// Largest number of tokens of the answer.
    pub max_new_tokens: usize,
    /// How the request is ended early, if it is. A cancel after its end does nothing.
    pub cancel: Option<Cancel>,
}

/// A way to end a request early. Steps are counted from the arrival of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// [`Engine::cancel`] before this step: while the request waits, or decodes.
    Before(u64),
    /// [`Engine::canceller`] while this step computes: also while the prompt is computed.
    During(u64),
    /// The receiver takes this number of tokens and is gone at the next one.
    Gone(usize),
}

/// A runner whose passes are interrupted by cancels.
pub struct Interrupted<R> {
    /// The runner that computes.
    pub inner: R,
    /// Requests to cancel while the next pass computes.
    pub during: Vec<SeqId>,
    /// [`Engine::canceller`] of the engine that owns this runner; [`play`] sets it.
    pub canceller: Option<Sender<SeqId>>,
}

impl<R> Interrupted<R> {
    /// A runner without any cancel yet.
    pub fn new(inner: R) -> Interrupted<R> {
        Interrupted {
            inner,
            during: Vec::new(),
            canceller: None,
        }
    }
}

impl<R: Runner> Runner for Interrupted<R> {
    fn forward(&mut self, batch: &Batch) -> Result<&mut [f32], EngineError> {
        if let Some(canceller) = &self.canceller {
            // Sent while the engine waits for the pass, so they arrive between scheduling and publishing.
            for id in self.during.drain(..) {
                canceller.send(id).expect("the engine holds the other end");
            }
        }
        self.inner.forward(batch)
    }
}

/// What a client has seen of its request.
#[derive(Clone, Debug, Default)]
struct Seen {
    id: Option<SeqId>,
    tokens: Vec<TokenId>,
    end: Option<FinishReason>,
    /// Step from which on no token may come.
    silent_from: Option<u64>,
}

/// An engine whose passes can be interrupted.
type Played<R, M, S, X> = Engine<Interrupted<R>, M, S, X>;

/// Plays a plan to its end and checks that
/// - each request gets the tokens that it gets alone, in order, and one end, with the same reason; a cancelled request
///   gets some of the tokens, from the first one on;
/// - a cancelled request gets nothing more, and its end is reported in the same step or the next;
/// - a second cancel, and one of an unknown number, changes nothing;
/// - the invariants hold after every step;
/// - no memory is held at the end, and the end comes.
///
/// `attach(step, index)` gives what is attached to request `index` of the plan, which is submitted before `step`.
/// `after_step` is called after each step, for further checks, or to overwrite unused memory.
///
/// # Panics
/// When one of these does not hold.
#[expect(clippy::type_complexity, reason = "the engine with all of its parts is the type")]
pub fn play<R: Runner, M: Memory<X>, S: Schedule<M, X>, X>(
    engine: &mut Played<R, M, S, X>,
    plan: &[Planned],
    attach: &mut dyn FnMut(u64, usize) -> X,
    after_step: &mut dyn FnMut(&mut Played<R, M, S, X>),
) {
    // The runner sends through the same channel as any client.
    engine.runner.canceller = Some(engine.canceller());
    let mut seen = vec![Seen::default(); plan.len()];
    let latest = plan.iter().map(|planned| planned.arrives).max().unwrap_or(0);
    // The oldest request gets a row in every step. So a plan takes at most as many steps as if its requests ran one
    // after the other, one row a step.
    let most = latest + (plan.len() * (engine.limits.max_seq_len + 2)) as u64;
    let mut step = 0;
    while step <= latest || !engine.is_idle() {
        // An engine that goes on for ever fails here and does not hang the test.
        assert!(step <= most, "the end does not come");
        before_step(engine, plan, &mut seen, step, attach);
        let stepped = engine.step(&mut |event| note(plan, &mut seen, step, event));
        stepped.expect("the runner computes every batch");
        engine.check_invariants();
        after_step(engine);
        step += 1;
    }
    assert_eq!(engine.memory.num_holders(), 0, "memory is still held");
    for (planned, seen) in plan.iter().zip(&seen) {
        check(planned, seen, &engine.limits);
    }
}

/// Submits and cancels what the plan says for this step.
fn before_step<R: Runner, M: Memory<X>, S: Schedule<M, X>, X>(
    engine: &mut Played<R, M, S, X>,
    plan: &[Planned],
    seen: &mut [Seen],
    step: u64,
    attach: &mut dyn FnMut(u64, usize) -> X,
) {
    for (index, (planned, seen)) in plan.iter().zip(&mut *seen).enumerate() {
        if planned.arrives == step {
            let id = engine.submit_with(&planned.prompt, planned.max_new_tokens, attach(step, index));
            seen.id = Some(id.expect("the plan asks for what can be answered"));
        }
        let Some(id) = seen.id else { continue };
        match planned.cancel {
            Some(Cancel::Before(wait)) if planned.arrives + wait == step => {
                let was_alive = engine.cancel(id);
                assert!(seen.end.is_none() || !was_alive, "{id} ended twice");
                // The second cancel must find nothing to end.
                assert!(!engine.cancel(id), "a second cancel of {id} did something");
                seen.silent_from = Some(step);
            }
            Some(Cancel::During(wait)) if planned.arrives + wait == step => {
                // Twice, as the second cancel must change nothing.
                engine.runner.during.extend([id, id]);
                seen.silent_from = Some(step);
            }
            _ => {}
        }
    }
    assert!(!engine.cancel(SeqId(u64::MAX)), "no request has this number");
    engine.check_invariants();
}

/// A client's answer to an event.
fn note(plan: &[Planned], seen: &mut [Seen], step: u64, event: Event<'_>) -> Delivery {
    let id = event.id();
    let Some(index) = seen.iter().position(|seen| seen.id == Some(id)) else {
        panic!("{event:?} is about an unknown request");
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
            // A receiver that was gone has not taken the last token, so the output may have one more.
            let given = &output[..seen.tokens.len().min(output.len())];
            assert_eq!(given, seen.tokens, "{id}: the output is what was told");
            assert!(
                // A cancel before a step is reported in that step, one during it at its end or in the next.
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
        assert!(seen.silent_from.is_some(), "{planned:?} ended as cancelled");
        assert!(
            tokens.starts_with(&seen.tokens),
            "{planned:?} got {:?}, alone {tokens:?}",
            seen.tokens
        );
    } else {
        assert_eq!((&seen.tokens, end), (&tokens, reason), "{planned:?}");
    }
}
