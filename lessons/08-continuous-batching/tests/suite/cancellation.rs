//! Faults of cancellation that were seen in real engines, each as the behaviour that is right. No model is needed: a
//! scheduler sees numbers only.

use crate::common::{interrupted, scheduler};
use continuous_batching::oracle::listener::Listener;
use continuous_batching::oracle::play::Interrupted;
use continuous_batching::runner::NoModel;
use continuous_batching::{Delivery, Engine, Event, FinishReason, Memory, SeqId, Slots, Status};
use training::TokenId;

type Scheduler = Engine<Interrupted<NoModel>, Slots>;

/// A number that no request has.
const UNKNOWN: SeqId = SeqId(1_000_000);

fn engine(num_slots: usize) -> Scheduler {
    interrupted(scheduler(num_slots, num_slots))
}

fn submit(engine: &mut Scheduler, max_new_tokens: usize) -> SeqId {
    engine.submit(&[TokenId(1); 3], max_new_tokens).unwrap()
}

fn step(engine: &mut Scheduler, listener: &mut Listener) {
    engine.step(&mut |event| listener.take(event)).unwrap();
    engine.check_invariants();
}

fn slot_of(engine: &Scheduler, id: SeqId) -> usize {
    engine.memory.find(id).expect("the request holds a slot").0
}

/// vllm#46283, sglang#1674: slots of an aborted request never return.
#[test]
fn an_abort_frees_the_slot_in_every_state() {
    // Two slots, three requests: one waits.
    type Abort = fn(&mut Scheduler, SeqId);
    let between: Abort = |engine, id| assert!(engine.cancel(id));
    let while_computing: Abort = |engine, id| engine.runner.during.push(id);
    for (state, steps_before, which, abort, freed) in [
        ("waiting, before the first step", 0, 2, between, 0),
        ("waiting", 2, 2, between, 0),
        ("waiting, while a pass computes", 2, 2, while_computing, 0),
        ("prefilling, while its pass computes", 0, 0, while_computing, 1),
        ("decoding", 2, 1, between, 1),
        ("decoding, while its pass computes", 2, 1, while_computing, 1),
    ] {
        let mut engine = engine(2);
        let mut listener = Listener::default();
        let ids = [9, 9, 9].map(|n| submit(&mut engine, n));
        for _ in 0..steps_before {
            step(&mut engine, &mut listener);
        }
        // No other request may take the slot that becomes free, so that it can be seen.
        if which != 2 {
            assert!(engine.cancel(ids[2]));
        }
        abort(&mut engine, ids[which]);
        step(&mut engine, &mut listener);
        assert_eq!(engine.memory.num_free(), freed, "{state}");
        assert_eq!(listener.ends[&ids[which]], FinishReason::Cancelled, "{state}");
        let tokens = if which == 2 { 0 } else { steps_before };
        assert_eq!(listener.tokens[&ids[which]].len(), tokens, "{state}");
        engine.run(&mut |event| listener.take(event)).unwrap();
        assert_eq!(engine.memory.num_free(), 2, "{state}");
    }
}

/// vllm#18485: an abort of a request that never got memory, or a second abort of one id, panics.
#[test]
fn a_second_abort_and_one_of_an_unknown_id_do_nothing() {
    let mut engine = engine(1);
    let mut listener = Listener::default();
    let [runs, waits] = [5, 5].map(|n| submit(&mut engine, n));
    assert!(!engine.cancel(UNKNOWN));
    step(&mut engine, &mut listener);
    assert!(engine.cancel(waits));
    assert!(!engine.cancel(waits), "the second time");
    assert!(engine.cancel(runs));
    assert!(!engine.cancel(runs), "the second time");
    let canceller = engine.canceller();
    for id in [runs, runs, waits, UNKNOWN] {
        canceller.send(id).unwrap();
    }
    engine.check_invariants();
    step(&mut engine, &mut listener);
    assert!(engine.is_idle());
    assert!(!engine.cancel(runs), "after its end was reported");
    // A late cancel does not undo an end either.
    let late = submit(&mut engine, 1);
    step(&mut engine, &mut listener);
    assert!(!engine.cancel(late));
    assert_eq!(listener.ends[&late], FinishReason::Length);
    assert_eq!(engine.memory.num_free(), 1);
}

/// atlas#373: a free drops what another request holds.
#[test]
fn a_request_frees_its_own_slot_only() {
    let mut engine = engine(2);
    let mut listener = Listener::default();
    let [first, _second] = [9, 9].map(|n| submit(&mut engine, n));
    step(&mut engine, &mut listener);
    let slot = slot_of(&engine, first);
    assert!(engine.cancel(first));
    let third = submit(&mut engine, 9);
    step(&mut engine, &mut listener);
    assert_eq!(slot_of(&engine, third), slot, "it has the slot of the first request");
    assert!(!engine.cancel(first));
    assert!(!Memory::<()>::free(&mut engine.memory, first));
    engine.check_invariants();
    assert_eq!(slot_of(&engine, third), slot);
    step(&mut engine, &mut listener);
    assert_eq!(engine.batch.sequences.len(), 2);
}

/// A request that is cancelled while the pass computes its last token still published it in some engines.
#[test]
fn a_request_cancelled_in_its_last_step_publishes_nothing() {
    let mut engine = engine(1);
    let mut listener = Listener::default();
    let id = submit(&mut engine, 2);
    step(&mut engine, &mut listener);
    engine.runner.during.push(id);
    step(&mut engine, &mut listener);
    assert_eq!(listener.tokens[&id].len(), 1);
    assert_eq!(listener.ends[&id], FinishReason::Cancelled);
    assert!(engine.is_idle());
}

/// candle-vllm#61: the server goes on generating after its client left. mistral.rs#213: a client's dropped channel ends
/// all requests.
#[test]
fn a_dropped_receiver_ends_its_own_request_only() {
    let mut engine = engine(3);
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..3).map(|_| std::sync::mpsc::channel::<TokenId>()).unzip();
    let ids = [9, 9, 9].map(|n| submit(&mut engine, n));
    let mut deliver = |event: Event<'_>| match event {
        Event::Token { id, token } => match senders[id.0 as usize].send(token) {
            Ok(()) => Delivery::Taken,
            Err(_) => Delivery::ReceiverGone,
        },
        Event::Finished { .. } => Delivery::Taken,
    };
    engine.step(&mut deliver).unwrap();
    let mut receivers: Vec<Option<_>> = receivers.into_iter().map(Some).collect();
    receivers[1] = None;
    engine.step(&mut deliver).unwrap();
    engine.check_invariants();
    assert_eq!(engine.memory.find(ids[1]), None, "its slot is free");
    assert_eq!(engine.memory.num_free(), 1);
    engine.run(&mut deliver).unwrap();
    let counts: Vec<usize> = receivers.iter().flatten().map(|r| r.try_iter().count()).collect();
    assert_eq!(counts, [9, 9], "the others get all their tokens");
}

/// A cancel from another thread, between two steps.
#[test]
fn a_canceller_works_from_another_thread() {
    let mut engine = engine(2);
    let ids = [29, 29].map(|n| submit(&mut engine, n));
    let canceller = engine.canceller();
    let mut listener = Listener::default();
    step(&mut engine, &mut listener);
    std::thread::spawn(move || canceller.send(ids[0]).unwrap())
        .join()
        .unwrap();
    step(&mut engine, &mut listener);
    assert_eq!(listener.ends.get(&ids[0]), Some(&FinishReason::Cancelled));
    assert_eq!(listener.tokens[&ids[0]].len(), 1);
    assert_eq!(engine.queues.running[0].status, Status::Decoding);
}
