//! What ends one request, what ends the engine, and what can not happen: a pass that lacks memory.

use crate::common::{ids, scheduler, small_limits};
use continuous_batching::oracle::listener::Listener;
use continuous_batching::runner::NoModel;
use continuous_batching::{
    Admission, Batch, Delivery, Engine, EngineError, EngineLimits, FinishReason, Length, Memory, Refusal, Request,
    Runner, SeqId, Slots,
};
use generation::GenerateError;
use std::cell::RefCell;
use std::rc::Rc;
use training::TokenId;

/// vllm#39734, nano-vllm#274: a request that can never fit blocks the queue for ever.
#[test]
fn a_prompt_that_can_never_fit_is_refused_at_submit() {
    // Without any slot there is no room for one token, so no request waits for ever.
    for (num_slots, prompt_tokens, max_seq_len) in [(1, 65, 64), (0, 1, 0)] {
        let mut engine = scheduler(num_slots, 1);
        let refused = engine.submit(&vec![TokenId(1); prompt_tokens], 1);
        assert_eq!(
            refused,
            Err(Refusal::PromptTooLong {
                prompt_tokens,
                max_seq_len
            })
        );
        assert!(engine.is_idle());
    }
}

/// The same fault inside the engine, here a slot that no request of the engine holds: it is named, and the run does not
/// go on for ever.
#[test]
#[should_panic(expected = "no row was computed and 1 requests wait")]
fn a_run_that_can_not_end_says_so() {
    let mut engine = scheduler(1, 1);
    engine.memory.take(SeqId(1_000_000));
    engine.submit(&[TokenId(1)], 1).unwrap();
    let _ = engine.run(&mut |_| Delivery::Taken);
}

/// All or nothing: a request that is not admitted holds nothing, and the next one does not overtake it.
#[test]
fn a_request_without_a_slot_waits_and_is_not_overtaken() {
    let mut engine = scheduler(2, 8);
    let mut listener = Listener::default();
    let ids = [3, 1, 2, 1].map(|n| engine.submit(&[TokenId(1); 3], n).unwrap());
    engine.step(&mut |event| listener.take(event)).unwrap();
    assert_eq!(engine.batch.sequences.len(), 2, "two slots, two requests");
    assert!(ids[2..].iter().all(|id| engine.memory.find(*id).is_none()));
    assert_eq!(engine.queues.waiting[0].id, ids[2]);
    engine.step(&mut |event| listener.take(event)).unwrap();
    assert!(engine.memory.find(ids[2]).is_some(), "the oldest comes first");
    assert_eq!(engine.queues.waiting[0].id, ids[3]);
    engine.run(&mut |event| listener.take(event)).unwrap();
    assert_eq!(engine.num_steps(), 4);
}

#[test]
fn at_most_max_running_run_and_a_free_slot_is_taken_in_the_next_step() {
    let mut engine = scheduler(8, 3);
    for i in 0..10 {
        engine.submit(&[TokenId(1); 3], 1 + i % 4).unwrap();
    }
    let mut steps = Vec::new();
    while !engine.is_idle() {
        engine.step(&mut |_| Delivery::Taken).unwrap();
        engine.check_invariants();
        let (sequences, waiting) = (engine.batch.sequences.len(), engine.queues.waiting.len());
        assert!(sequences == 3 || waiting == 0, "{sequences} run while {waiting} wait");
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
    config.eos_token_ids = ids(&[2, 5]);
    let limits = EngineLimits::of_model(&config, 1);
    for (token, ends) in [(2, true), (4, false), (5, true)] {
        let mut request = Request::new(SeqId(0), &[TokenId(1)], 9, 16);
        let accepted = request.accept(TokenId(token), &limits);
        assert_eq!(accepted, (!ends).then_some(TokenId(token)), "token {token}");
        assert_eq!(request.is_finished(), ends, "token {token}");
    }
}

/// As with vLLM's `ignore_eos`: a request that ignores it goes on after an end-of-text token, and its batch mate does not.
#[test]
fn a_request_may_ignore_the_end_of_text() {
    let choice =
        Box::new(|request: &Request, _: &mut [f32]| Ok(TokenId(if request.output.len() == 2 { 3 } else { 1 })));
    let mut engine = scheduler(2, 2).with_choice(choice);
    let plain = engine.submit(&[TokenId(1)], 5).unwrap();
    let exact = engine.submit(&[TokenId(1)], Length::exactly(5)).unwrap();
    let mut listener = Listener::default();
    engine.run(&mut |event| listener.take(event)).unwrap();
    assert_eq!(listener.tokens[&plain], ids(&[1, 1]));
    assert_eq!(listener.tokens[&exact], ids(&[1, 1, 3, 1, 1]));
    assert_eq!(
        [plain, exact].map(|id| listener.ends[&id]),
        [FinishReason::Stop, FinishReason::Length]
    );
}

/// A row without a choice, here for its NaN, ends its own request in the same step. The others get the tokens that they
/// get without it.
#[test]
fn a_failed_choice_ends_its_own_request_only() {
    let bad = SeqId(1);
    let choice = Box::new(move |request: &Request, logits: &mut [f32]| {
        if request.id == bad && request.output.len() == 1 {
            logits[0] = f32::NAN;
        }
        generation::generate::greedy(logits)
    });
    let mut engine = scheduler(3, 3).with_choice(choice);
    let ids = [3, 3, 3, 2].map(|n| engine.submit(&[TokenId(1)], n).unwrap());
    let mut listener = Listener::default();
    engine.step(&mut |event| listener.take(event)).unwrap();
    assert!(!listener.ends.contains_key(&bad));
    engine.step(&mut |event| listener.take(event)).unwrap();
    engine.check_invariants();
    assert_eq!(listener.ends[&bad], FinishReason::ChoiceFailed);
    assert_eq!(listener.tokens[&ids[2]].len(), 2, "the row behind it gets its token");
    assert_eq!(engine.memory.num_free(), 1, "its slot is free after the step");
    engine.run(&mut |event| listener.take(event)).unwrap();
    assert_eq!(ids.map(|id| listener.tokens[&id].len()), [3, 1, 3, 2]);
    assert_eq!(
        listener
            .ends
            .values()
            .filter(|end| **end == FinishReason::Length)
            .count(),
        3
    );
    assert_eq!(engine.memory.num_free(), 3);
}

/// A runner whose pass fails from the second step on.
struct Failing(NoModel, usize);

impl Runner for Failing {
    fn forward(&mut self, batch: &Batch) -> Result<&mut [f32], EngineError> {
        self.1 += 1;
        match self.1 {
            1 => self.0.forward(batch),
            _ => Err(EngineError::Forward(GenerateError::NoLogits.into())),
        }
    }
}

/// The error reaches the caller of the step, and nothing of that step is published: no token, no end, no count of
/// computed rows.
#[test]
fn a_failed_pass_is_returned_and_publishes_nothing() {
    let mut engine = Engine::new(Failing(NoModel::new(4), 0), Slots::new(2, 32), small_limits(2, 32));
    let [first, second] = [5, 5].map(|n| engine.submit(&[TokenId(1); 3], n).unwrap());
    let mut listener = Listener::default();
    engine.step(&mut |event| listener.take(event)).unwrap();
    engine.cancel(second);
    let before = engine.queues.running.clone();
    for _ in 0..2 {
        let error = engine.step(&mut |event| listener.take(event)).unwrap_err();
        assert!(matches!(error, EngineError::Forward(_)), "{error}");
    }
    assert_eq!(engine.queues.running, before);
    assert_eq!(listener.tokens[&first].len(), 1);
    assert!(
        listener.ends.is_empty(),
        "also the end of the cancelled request is kept"
    );
    assert_eq!(engine.num_steps(), 1);
    assert!(engine.run(&mut |event| listener.take(event)).is_err());
}

/// Calls of memory and runner, in order.
type Log = Rc<RefCell<Vec<String>>>;

/// Slots that write down what is asked of them.
struct Logged(Slots, Log);

impl Memory for Logged {
    fn max_seq_len(&self) -> usize {
        Memory::<()>::max_seq_len(&self.0)
    }

    fn admit(&mut self, request: &mut Request) -> Admission {
        self.1.borrow_mut().push(format!("admit {}", request.id));
        self.0.admit(request)
    }

    fn grow(&mut self, id: SeqId, num_tokens: usize) -> bool {
        self.1.borrow_mut().push(format!("grow {id} to {num_tokens}"));
        Memory::<()>::grow(&mut self.0, id, num_tokens)
    }

    fn note_computed(&mut self, request: &Request) {
        let line = format!("{} has {} computed", request.id, request.num_computed);
        self.1.borrow_mut().push(line);
    }

    fn free(&mut self, id: SeqId) -> bool {
        self.1.borrow_mut().push(format!("free {id}"));
        Memory::<()>::free(&mut self.0, id)
    }

    fn holds(&self, id: SeqId) -> bool {
        self.0.find(id).is_some()
    }

    fn num_holders(&self) -> usize {
        Memory::<()>::num_holders(&self.0)
    }

    fn write_table(&self, id: SeqId, table: &mut Vec<u32>) {
        Memory::<()>::write_table(&self.0, id, table);
    }

    fn take_copies(&mut self, copies: &mut Vec<(u32, u32)>) {
        self.1.borrow_mut().push("copies".to_owned());
        copies.push((0, 1));
    }

    fn check_invariants(&self) {
        Memory::<()>::check_invariants(&self.0);
    }
}

struct LoggedRunner(NoModel, Log);

impl Runner for LoggedRunner {
    fn forward(&mut self, batch: &Batch) -> Result<&mut [f32], EngineError> {
        batch.check_invariants();
        let line = format!("forward {} rows, copies {:?}", batch.num_rows(), batch.copies);
        self.1.borrow_mut().push(line);
        self.0.forward(batch)
    }
}

/// Memory for every row is taken, and the copies are known, before the pass, so that no pass fails for want of memory.
/// After the pass memory is told what was computed, and only then an ended request frees its own.
#[test]
fn memory_is_taken_before_the_pass_and_told_after_it() {
    let log = Log::default();
    let runner = LoggedRunner(NoModel::new(4), log.clone());
    let mut engine = Engine::new(runner, Logged(Slots::new(2, 32), log.clone()), small_limits(2, 32));
    engine.submit(&[TokenId(1); 3], 2).unwrap();
    engine.run(&mut |_| Delivery::Taken).unwrap();
    let expected = [
        "admit 0",
        "grow 0 to 3",
        "copies",
        "forward 3 rows, copies [(0, 1)]",
        "0 has 3 computed",
        "grow 0 to 4",
        "copies",
        "forward 1 rows, copies [(0, 1)]",
        "0 has 4 computed",
        "free 0",
    ];
    assert_eq!(*log.borrow(), expected);
}

/// A choice may write on its row of logits. In the next step all logits are zero again.
#[test]
fn without_a_model_all_logits_are_equal_in_each_step() {
    let mut runner = NoModel::new(4);
    let token = [TokenId(0)];
    let batch = crate::common::batch_of(&[(0, 0, &token, true), (1, 0, &token, true)]);
    for _ in 0..2 {
        let logits = runner.forward(&batch).unwrap();
        assert_eq!(logits, [0.0; 8]);
        logits.fill(f32::NEG_INFINITY);
    }
}
