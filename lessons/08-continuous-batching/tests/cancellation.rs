//! Faults that were seen in real engines, each as the behaviour that is right. Without a model: a scheduler knows nothing but numbers.

use continuous_batching::oracle::listener::Listener;
use continuous_batching::oracle::play::Interrupted;
use continuous_batching::runner::NoModel;
use continuous_batching::slots::Slot;
use continuous_batching::{
    Admission, Batch, BatchSequence, Delivery, Engine, EngineError, EngineLimits, Event, FinishReason, Memory, Refusal,
    Request, Runner, SeqId, Slots, Status,
};
use generation::GenerateError;
use std::error::Error;
use training::TokenId;

type Scheduler = Engine<Interrupted<NoModel>, Slots>;

const NOBODY: SeqId = SeqId(1_000_000);

/// An engine without a model, slots for 32 tokens.
fn scheduler(num_slots: usize, max_running: usize) -> Scheduler {
    let limits = EngineLimits {
        max_running,
        max_new_tokens: usize::MAX,
        max_seq_len: 32,
        vocab_size: 4,
        end_of_text: vec![TokenId(3)],
    };
    let runner = Interrupted::new(NoModel::new(4));
    let mut engine = Engine::new(runner, Slots::new(num_slots, 32), limits);
    engine.runner.canceller = Some(engine.canceller());
    engine
}

fn submit(engine: &mut Scheduler, max_new_tokens: usize) -> SeqId {
    engine.submit(&[TokenId(1); 3], max_new_tokens).unwrap()
}

fn step(engine: &mut Scheduler, listener: &mut Listener) -> usize {
    let report = engine.step(&mut |event| listener.take(event)).unwrap();
    engine.check_invariants();
    report.sequences
}

/// vllm#46283, sglang#1674: slots of an aborted request never return.
#[test]
fn abort_frees_in_every_state() {
    // Two slots, three requests: one waits.
    type Abort = fn(&mut Scheduler, SeqId);
    let between: Abort = |engine, id| assert!(engine.cancel(id));
    let while_computing: Abort = |engine, id| engine.runner.during.push(id);
    for (state, steps_before, which, abort, freed) in [
        ("waiting, before anything ran", 0, 2, between, 0),
        ("waiting", 2, 2, between, 0),
        ("waiting, while a pass computes", 2, 2, while_computing, 0),
        ("prefilling, between scheduling and update", 0, 0, while_computing, 1),
        ("decoding", 2, 1, between, 1),
        ("decoding, between scheduling and update", 2, 1, while_computing, 1),
    ] {
        let mut engine = scheduler(2, 2);
        let mut listener = Listener::default();
        let ids = [9, 9, 9].map(|n| submit(&mut engine, n));
        for _ in 0..steps_before {
            step(&mut engine, &mut listener);
        }
        // Nobody may take the place that becomes free, so that it can be seen.
        if which != 2 {
            assert!(engine.cancel(ids[2]));
        }
        abort(&mut engine, ids[which]);
        step(&mut engine, &mut listener);
        assert_eq!(engine.memory.num_free(), freed, "{state}");
        assert_eq!(listener.ends[&ids[which]], FinishReason::Cancelled, "{state}");
        assert_eq!(
            listener.tokens[&ids[which]].len(),
            if which == 2 { 0 } else { steps_before },
            "{state}"
        );
        engine.run(&mut |event| listener.take(event)).unwrap();
        assert_eq!(engine.memory.num_free(), 2, "{state}");
    }
}

/// vllm#18485: an abort of a request that never got memory, or a second abort of one id, panics.
#[test]
fn second_abort_and_abort_of_an_unknown_id_are_no_ops() {
    let mut engine = scheduler(1, 1);
    let mut listener = Listener::default();
    let [runs, waits] = [5, 5].map(|n| submit(&mut engine, n));
    assert!(!engine.cancel(NOBODY));
    step(&mut engine, &mut listener);
    assert!(engine.cancel(waits));
    assert!(!engine.cancel(waits), "the second time");
    assert!(engine.cancel(runs));
    assert!(!engine.cancel(runs), "the second time");
    let canceller = engine.canceller();
    for id in [runs, runs, waits, NOBODY] {
        canceller.cancel(id);
    }
    engine.check_invariants();
    step(&mut engine, &mut listener);
    assert!(engine.is_idle());
    assert!(!engine.cancel(runs), "after its end was announced");
    // An end that came by itself is not undone by a late cancel either.
    let late = submit(&mut engine, 1);
    step(&mut engine, &mut listener);
    assert!(!engine.cancel(late));
    assert_eq!(listener.ends[&late], FinishReason::Length);
    assert_eq!(engine.memory.num_free(), 1);
}

/// atlas#373: a release drops what somebody else holds.
#[test]
fn an_owner_drops_only_its_own_slot() {
    let mut engine = scheduler(2, 2);
    let mut listener = Listener::default();
    let [first, _second] = [9, 9].map(|n| submit(&mut engine, n));
    step(&mut engine, &mut listener);
    let slot = engine.memory.slot_of(first);
    assert!(engine.cancel(first));
    let third = submit(&mut engine, 9);
    step(&mut engine, &mut listener);
    assert_eq!(engine.memory.slot_of(third), slot, "it sits where the first one sat");
    assert!(!engine.cancel(first));
    assert!(!engine.memory.release(first));
    engine.check_invariants();
    assert_eq!(engine.memory.slot_of(third), slot);
    assert_eq!(step(&mut engine, &mut listener), 2);
}

/// unified-cache-management#1053: the same place freed twice corrupts the free list.
#[test]
fn nothing_is_freed_twice() {
    let mut slots = Slots::new(3, 8);
    let taken = [0, 1].map(|id| slots.take(SeqId(id)).unwrap());
    assert!(slots.release(SeqId(0)));
    assert!(!slots.release(SeqId(0)));
    slots.check_invariants();
    assert_eq!(slots.num_free(), 2);
    // Two takers get two places.
    let [a, b] = [5, 6].map(|id| slots.take(SeqId(id)).unwrap());
    assert_ne!(a, b);
    assert_eq!(a, taken[0], "the place that became free last is taken first");
    assert_eq!(slots.take(SeqId(7)), None);
    slots.check_invariants();
}

/// A request that is cancelled while the pass computes its last token still published in some engines.
#[test]
fn a_request_cancelled_in_its_last_step_publishes_nothing() {
    let mut engine = scheduler(1, 1);
    let mut listener = Listener::default();
    let id = submit(&mut engine, 2);
    step(&mut engine, &mut listener);
    engine.runner.during.push(id);
    step(&mut engine, &mut listener);
    assert_eq!(listener.tokens[&id].len(), 1);
    assert_eq!(listener.ends[&id], FinishReason::Cancelled);
    assert!(engine.is_idle());
}

/// candle-vllm#61: the server goes on generating after its client left. mistral.rs#213: a client's dropped channel ends everybody.
#[test]
fn a_dropped_receiver_cancels_within_two_steps_and_nobody_else() {
    let mut engine = scheduler(3, 3);
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
    for _ in 0..2 {
        engine.step(&mut deliver).unwrap();
        engine.check_invariants();
    }
    assert!(!engine.memory.holds(ids[1]), "its slot is free");
    assert_eq!(engine.memory.num_free(), 1);
    engine.run(&mut deliver).unwrap();
    let counts: Vec<usize> = receivers.iter().flatten().map(|r| r.try_iter().count()).collect();
    assert_eq!(counts, [9, 9], "the others get all their tokens");
}

/// vllm#39734, nano-vllm#274: a request that can never fit blocks the queue for ever.
#[test]
fn what_can_never_fit_is_refused_at_submit() {
    let mut engine = scheduler(1, 1);
    let long = [TokenId(1); 33];
    let refused = engine.submit(&long, 1);
    assert_eq!(
        refused,
        Err(Refusal::PromptTooLong {
            prompt_tokens: 33,
            max_seq_len: 32
        })
    );
    let mut listener = Listener::default();
    let id = submit(&mut engine, 1);
    step(&mut engine, &mut listener);
    assert_eq!(listener.ends[&id], FinishReason::Length);
}

/// The same where there is no slot at all: nobody is left to wait for ever.
#[test]
fn without_a_slot_every_request_is_refused() {
    let mut engine = scheduler(0, 1);
    let refused = engine.submit(&[TokenId(1)], 1);
    assert_eq!(
        refused,
        Err(Refusal::PromptTooLong {
            prompt_tokens: 1,
            max_seq_len: 0
        })
    );
    assert!(engine.is_idle());
}

/// Memory that has room for nobody, though it said at submit that it would.
struct Full;

impl Memory for Full {
    fn max_seq_len(&self) -> usize {
        32
    }

    fn admit(&mut self, _: &mut Request) -> Admission {
        Admission::NoRoom
    }

    fn release(&mut self, _: SeqId) -> bool {
        false
    }

    fn holds(&self, _: SeqId) -> bool {
        false
    }

    fn num_holders(&self) -> usize {
        0
    }

    fn check_invariants(&self) {}
}

/// The same fault behind the door: it is named, and not waited for.
#[test]
#[should_panic(expected = "1 requests wait: nobody will ever join")]
fn a_run_that_can_not_end_says_so() {
    let limits = scheduler(1, 1).limits.clone();
    let mut engine = Engine::new(NoModel::new(4), Full, limits);
    engine.submit(&[TokenId(1)], 1).unwrap();
    let _ = engine.run(&mut |_| Delivery::Taken);
}

/// All or nothing: who is not admitted holds nothing, and the one behind does not overtake.
#[test]
fn who_finds_no_slot_waits_and_is_not_overtaken() {
    let mut engine = scheduler(2, 8);
    let mut listener = Listener::default();
    let ids = [3, 1, 2, 1].map(|n| submit(&mut engine, n));
    assert_eq!(step(&mut engine, &mut listener), 2, "two slots, two requests");
    assert!(ids[2..].iter().all(|id| !engine.memory.holds(*id)));
    assert_eq!(engine.queues.waiting[0].id, ids[2]);
    step(&mut engine, &mut listener);
    assert!(engine.memory.holds(ids[2]), "the oldest comes first");
    assert_eq!(engine.queues.waiting[0].id, ids[3]);
    engine.run(&mut |event| listener.take(event)).unwrap();
    assert_eq!(engine.num_steps(), 4);
}

#[test]
fn never_more_run_than_may_run_and_a_free_slot_is_taken_in_the_next_step() {
    let mut engine = scheduler(8, 3);
    let mut listener = Listener::default();
    for i in 0..10 {
        submit(&mut engine, 1 + i % 4);
    }
    let mut steps = Vec::new();
    while !engine.is_idle() {
        let sequences = step(&mut engine, &mut listener);
        assert!(
            sequences == 3 || engine.queues.waiting.is_empty(),
            "{sequences} run while {} wait",
            engine.queues.waiting.len()
        );
        steps.push(sequences);
    }
    assert_eq!(steps.iter().max(), Some(&3));
    assert_eq!(steps.iter().sum::<usize>(), (0..10).map(|i| 1 + i % 4).sum::<usize>());
}

/// vllm#4182: only one of several end-of-text tokens is known, and a text that ends with another one goes on.
#[test]
fn any_of_the_end_of_text_tokens_ends_a_request() {
    let path = fixtures::model("some-kv-tied-bf16");
    let mut config = loading::open(path.to_str().unwrap()).unwrap().config;
    config.eos_token_ids = vec![TokenId(2), TokenId(5)];
    let limits = EngineLimits::of_model(&config, 1);
    for (token, ends) in [(2, true), (4, false), (5, true)] {
        let mut request = Request::new(SeqId(0), &[TokenId(1)], 9, 16);
        let told = request.accept(TokenId(token), &limits);
        assert_eq!(told, (!ends).then_some(TokenId(token)), "token {token}");
        assert_eq!(request.is_finished(), ends, "token {token}");
    }
}

/// A runner that fails whenever it is told to.
struct Failing {
    inner: NoModel,
    fails: bool,
    not_a_number: bool,
}

impl<M> Runner<M> for Failing {
    fn forward(&mut self, memory: &mut M, batch: &Batch) -> Result<&mut [f32], EngineError> {
        if self.fails {
            return Err(EngineError::Cache(GenerateError::NoLogits.into()));
        }
        let logits = self.inner.forward(memory, batch)?;
        logits.fill(0.0);
        if self.not_a_number {
            logits[5] = f32::NAN;
        }
        Ok(logits)
    }
}

/// A step that fails publishes nothing, loses nothing, and can be tried again.
#[test]
fn a_failed_step_can_be_tried_again() {
    let limits = scheduler(1, 2).limits.clone();
    let runner = Failing {
        inner: NoModel::new(4),
        fails: false,
        not_a_number: false,
    };
    let mut engine = Engine::new(runner, Slots::new(2, 32), limits);
    engine.start_trace();
    let ids = [2, 2, 1].map(|n| engine.submit(&[TokenId(1)], n).unwrap());
    let mut listener = Listener::default();
    for tokens_before in 0..2 {
        engine.runner.fails = true;
        let error = engine.step(&mut |event| listener.take(event)).unwrap_err();
        assert!(matches!(error, EngineError::Cache(_)), "{error}");
        engine.runner.fails = false;
        engine.runner.not_a_number = true;
        let error = engine.step(&mut |event| listener.take(event)).unwrap_err();
        let source = GenerateError::NotANumber { token_id: 1 };
        let what = format!("no token could be chosen for request {}", ids[1]);
        assert_eq!(error.to_string(), what);
        let why = error.source().map(ToString::to_string);
        assert_eq!(why, Some(source.to_string()), "the cause is told once");
        engine.runner.not_a_number = false;
        engine.check_invariants();
        let told: usize = listener.tokens.values().map(Vec::len).sum();
        assert_eq!(told, 2 * tokens_before, "nothing was published");
        assert_eq!(engine.queues.running.len(), 2, "nobody is lost");
        engine.step(&mut |event| listener.take(event)).unwrap();
    }
    engine.run(&mut |event| listener.take(event)).unwrap();
    assert_eq!(ids.map(|id| listener.tokens[&id].len()), [2, 2, 1]);
    assert_eq!(engine.memory.num_free(), 2);
    let traced: Vec<_> = (engine.trace().iter())
        .map(|step| (step.step, step.joined.clone()))
        .collect();
    let expected = [(0, ids[..2].to_vec()), (1, vec![]), (2, vec![ids[2]])];
    assert_eq!(traced, expected, "a step that was tried again is one step");
}

/// One whose logits are no numbers ends alone: the others are answered as if it had never been there.
#[test]
fn one_bad_row_does_not_end_the_others() {
    let limits = scheduler(1, 3).limits.clone();
    let bad = SeqId(1);
    let choice = Box::new(move |request: &Request, logits: &mut [f32]| {
        if request.id == bad && request.output.len() == 1 {
            logits[0] = f32::NAN;
        }
        generation::generate::greedy(logits)
    });
    let mut engine = Engine::new(NoModel::new(4), Slots::new(3, 32), limits).with_choice(choice);
    let ids = [3, 3, 3, 2].map(|n| engine.submit(&[TokenId(1)], n).unwrap());
    let mut listener = Listener::default();
    let error = engine.run(&mut |event| listener.take(event)).unwrap_err();
    assert!(matches!(error, EngineError::Choose { id, .. } if id == bad), "{error}");
    let told = ids.map(|id| listener.tokens[&id].len());
    assert_eq!(told, [3, 1, 3, 2]);
    assert_eq!(listener.ends[&bad], FinishReason::Cancelled);
    assert_eq!(engine.memory.num_free(), 3);
}

/// Rows that a choice has written on are new in the next step.
#[test]
fn without_a_model_all_logits_are_equal_in_each_step() {
    let mut runner = NoModel::new(4);
    let mut batch = Batch::default();
    for id in 0..2 {
        batch.tokens.push(TokenId(0));
        batch.positions.push(0);
        batch.sequences.push(BatchSequence {
            id: SeqId(id),
            first_row: id as usize,
            num_rows: 1,
            wants_logits: true,
        });
    }
    for _ in 0..2 {
        let logits = Runner::<()>::forward(&mut runner, &mut (), &batch).unwrap();
        assert_eq!(logits, [0.0; 8]);
        logits.fill(f32::NEG_INFINITY);
    }
}

/// What a failed step computed is taken up as it is: who was cancelled is left out, and nobody joins.
#[test]
fn nobody_joins_a_step_that_is_tried_again() {
    let limits = scheduler(1, 3).limits.clone();
    let runner = Failing {
        inner: NoModel::new(4),
        fails: true,
        not_a_number: false,
    };
    let mut engine = Engine::new(runner, Slots::new(3, 32), limits);
    let ids = [0, 1].map(|_| engine.submit(&[TokenId(1); 5], 2).unwrap());
    let mut listener = Listener::default();
    assert!(engine.step(&mut |event| listener.take(event)).is_err());
    let late = engine.submit(&[TokenId(1)], 1).unwrap();
    engine.cancel(ids[0]);
    engine.runner.fails = false;
    let report = engine.step(&mut |event| listener.take(event)).unwrap();
    engine.check_invariants();
    assert_eq!((report.sequences, report.rows), (1, 5), "only the second");
    assert!(!listener.tokens.contains_key(&late));
    engine.run(&mut |event| listener.take(event)).unwrap();
    assert_eq!(listener.tokens[&ids[1]].len(), 2);
    assert_eq!(listener.tokens[&late].len(), 1);
}

/// What stood in a slot is no length of its next owner.
#[test]
fn a_new_owner_begins_with_length_zero() {
    let mut slots = Slots::new(1, 8);
    let slot = slots.take(SeqId(0)).unwrap();
    slots.set_len(slot, 5);
    assert!(slots.release(SeqId(0)));
    assert_eq!(slots.len(slot), 0);
    slots.take(SeqId(1)).unwrap();
    assert_eq!(
        slots.all()[slot.0],
        Slot::Held {
            owner: SeqId(1),
            len: 0
        }
    );
}

/// Cancelled from another thread while the engine steps.
#[test]
fn a_canceller_works_from_another_thread() {
    let mut engine = scheduler(2, 2);
    let ids = [30, 30].map(|n| submit(&mut engine, n.min(29)));
    let canceller = engine.canceller();
    let mut listener = Listener::default();
    step(&mut engine, &mut listener);
    std::thread::spawn(move || canceller.cancel(ids[0])).join().unwrap();
    step(&mut engine, &mut listener);
    assert_eq!(listener.ends.get(&ids[0]), Some(&FinishReason::Cancelled));
    assert_eq!(listener.tokens[&ids[0]].len(), 1);
    assert_eq!(engine.queues.running[0].status, Status::Decoding);
}
