//! The real model: requests that run together get, token for token, what lesson 06 gives each of them alone. Also at
//! the edges.

use crate::common::{ModelEngine, engine, interrupted, stories, text};
use crate::trace;
use continuous_batching::oracle::listener::Listener;
use continuous_batching::oracle::single::Single;
use continuous_batching::{Delivery, Event, FinishReason, Refusal, SeqId, Status};
use generation::Model;
use layout::pool::Pool;
use static_batching::batch::{Pad, Padding, Width};
use static_batching::generate::generate_batch;
use static_batching::state::BatchState;
use training::TokenId;

/// Prompts of 1 to 20 tokens, a third of them beginnings of stories, with 0 to 17 tokens asked for.
fn requests(model: &Model, count: usize) -> Vec<(Vec<TokenId>, usize)> {
    let beginnings = ["Once upon a time", "Lily had a red ball.", "One day, Tom", "The fox"];
    let prompt = |i: usize| match i % 3 {
        0 => model.encode_prompt(beginnings[i / 3 % beginnings.len()]).unwrap(),
        _ => text(1 + i * 7 % 20, i as u32),
    };
    (0..count).map(|i| (prompt(i), i * 5 % 18)).collect()
}

/// Submits at most `burst` requests before each step, and compares all answers with single runs.
#[track_caller]
fn together_equals_alone(num_slots: usize, threads: usize, burst: usize, count: usize) {
    const MAX_SEQ_LEN: usize = 64;
    let (model, pool) = (stories(), Pool::new(threads));
    let mut engine = engine(&model, &pool, num_slots, MAX_SEQ_LEN);
    let (requests, mut listener) = (requests(&model, count), Listener::default());
    let mut rest = requests.iter();
    while rest.len() > 0 || !engine.is_idle() {
        for (prompt, max_new_tokens) in rest.by_ref().take(burst) {
            engine.submit(prompt, *max_new_tokens).unwrap();
        }
        engine.step(&mut |event| listener.take(event)).unwrap();
        engine.check_invariants();
    }
    assert_eq!(engine.memory.num_free(), num_slots);
    let single = Single::new(&model);
    for (id, (prompt, max_new_tokens)) in requests.iter().enumerate() {
        let id = SeqId(id as u64);
        let (tokens, reason) = single.answer(prompt, *max_new_tokens, MAX_SEQ_LEN);
        assert_eq!(listener.tokens[&id], tokens, "request {id}");
        assert_eq!(listener.ends[&id], reason, "request {id}");
    }
}

/// Claim C5: more requests than slots, all at once; requests that come one by one; one slot that serves them one after
/// the other.
#[test]
fn concurrent_requests_equal_their_single_runs() {
    together_equals_alone(24, 2, 64, 64);
    together_equals_alone(5, 2, 1, 24);
    together_equals_alone(1, 1, 8, 8);
}

/// What this lesson supersedes gives the same tokens, to the same requests.
#[test]
fn a_static_batch_gives_the_same_answers() {
    let (model, pool) = (stories(), Pool::new(2));
    let requests = requests(&model, 8);
    let mut engine = engine(&model, &pool, 3, 512);
    for (prompt, max_new_tokens) in &requests {
        engine.submit(prompt, *max_new_tokens).unwrap();
    }
    let mut listener = Listener::default();
    engine.run(&mut |event| listener.take(event)).unwrap();
    let prompts: Vec<&[TokenId]> = requests.iter().map(|request| &request.0[..]).collect();
    let lengths: Vec<usize> = requests.iter().map(|request| request.1).collect();
    let pad = Pad {
        side: Padding::Left,
        width: Width::Longest,
    };
    let mut state = BatchState::new(&model.config);
    let run = generate_batch(&model, &mut state, &pool, &prompts, &lengths, pad, &mut |_, _| {});
    for (id, generation) in run.unwrap().generations.into_iter().enumerate() {
        let id = SeqId(id as u64);
        assert_eq!(listener.tokens[&id], generation.tokens);
        assert_eq!(listener.ends[&id], generation.finish_reason.into());
    }
}

/// The longest prompt that fits leaves no room for an answer, and that is no error.
#[test]
fn a_prompt_over_the_limit_is_refused_and_one_at_the_limit_is_not() {
    let (model, pool) = (stories(), Pool::new(1));
    let mut engine = engine(&model, &pool, 2, 16);
    let too_long = Refusal::PromptTooLong {
        prompt_tokens: 17,
        max_seq_len: 16,
    };
    let unknown = Refusal::UnknownToken {
        token_id: 2048,
        position: 1,
        vocab_size: 2048,
    };
    assert_eq!(engine.submit(&[], 5), Err(Refusal::EmptyPrompt));
    assert_eq!(engine.submit(&text(17, 1), 5), Err(too_long));
    assert_eq!(engine.submit(&[TokenId(5), TokenId(2048)], 5), Err(unknown));
    assert!(engine.is_idle());
    let [full, one_less] = [16, 15].map(|len| engine.submit(&text(len, 1), 5).unwrap());
    let mut listener = Listener::default();
    engine.run(&mut |event| listener.take(event)).unwrap();
    assert_eq!(listener.ends[&full], FinishReason::Context);
    assert_eq!(listener.tokens[&full], []);
    assert_eq!(listener.ends[&one_less], FinishReason::Context);
    assert_eq!(listener.tokens[&one_less].len(), 1);
}

/// No new token asked for: answered in the next step, without a row and without a slot.
#[test]
fn zero_new_tokens_compute_nothing() {
    let (model, pool) = (stories(), Pool::new(1));
    let mut engine = engine(&model, &pool, 1, 64);
    let id = engine.submit(&text(9, 1), 0).unwrap();
    let mut listener = Listener::default();
    let (_, counted) = lab::ledger::measure(|| engine.step(&mut |event| listener.take(event)).unwrap());
    assert!(engine.batch.is_empty());
    assert_eq!((counted.multiply_adds, counted.steps), (0, 0));
    assert_eq!(listener.ends[&id], FinishReason::Length);
    assert!(engine.is_idle());
}

/// The engine's cap holds, whatever the request asks for.
#[test]
fn the_cap_on_tokens_holds_for_every_request() {
    let (model, pool) = (stories(), Pool::new(2));
    let mut engine = engine(&model, &pool, 3, 64);
    engine.limits.max_new_tokens = 4;
    engine.limits.end_of_text.clear();
    let ids = [2, 4, 9, usize::MAX].map(|n| engine.submit(&text(3, 1), n).unwrap());
    let mut listener = Listener::default();
    engine.run(&mut |event| listener.take(event)).unwrap();
    assert_eq!(ids.map(|id| listener.tokens[&id].len()), [2, 4, 4, 4]);
    assert!(ids.iter().all(|id| listener.ends[id] == FinishReason::Length));
}

/// An engine in which no token ends a text.
fn endless<'m>(model: &'m Model, pool: &'m Pool, num_slots: usize) -> ModelEngine<'m> {
    let mut engine = engine(model, pool, num_slots, 64);
    engine.limits.end_of_text.clear();
    engine
}

fn prompts() -> [Vec<TokenId>; 3] {
    [text(4, 1), text(11, 2), text(6, 3)]
}

/// Three requests on two slots, one of them cancelled before or during a step; the others get what they get alone.
#[track_caller]
fn cancelled(which: usize, before_step: Option<usize>, during_step: Option<usize>, gets: usize) {
    let (model, pool) = (stories(), Pool::new(2));
    let mut engine = interrupted(endless(&model, &pool, 2));
    let prompts = prompts();
    let ids = [0, 1, 2].map(|i| engine.submit(&prompts[i], 6).unwrap());
    let (mut listener, mut step) = (Listener::default(), 0);
    while !engine.is_idle() {
        if before_step == Some(step) {
            assert!(engine.cancel(ids[which]));
        }
        if during_step == Some(step) {
            engine.runner.during.push(ids[which]);
        }
        engine.step(&mut |event| listener.take(event)).unwrap();
        engine.check_invariants();
        step += 1;
    }
    assert_eq!(engine.memory.num_free(), 2);
    let single = Single::new(&model);
    for i in 0..3 {
        let (tokens, _) = single.answer(&prompts[i], 6, 64);
        let expected = if i == which { &tokens[..gets] } else { &tokens[..] };
        assert_eq!(listener.tokens[&ids[i]], expected, "request {i}");
    }
    assert_eq!(listener.ends[&ids[which]], FinishReason::Cancelled);
}

#[test]
fn a_cancel_in_any_state_leaves_the_other_answers_as_they_are() {
    // Waiting.
    cancelled(2, Some(0), None, 0);
    cancelled(2, Some(3), None, 0);
    // While the pass computes the prompt: the first token is not told.
    cancelled(1, None, Some(0), 0);
    cancelled(2, None, Some(6), 0);
    // Decoding.
    cancelled(0, Some(2), None, 2);
    cancelled(1, None, Some(3), 3);
    // In the step that gives the last token.
    cancelled(0, None, Some(5), 5);
    cancelled(0, Some(5), None, 5);
    cancelled(2, None, Some(11), 5);
}

/// A receiver that is gone ends its own request: the others neither stop nor change.
#[test]
fn a_receiver_that_is_gone_ends_only_its_own_request() {
    let (model, pool) = (stories(), Pool::new(2));
    let mut engine = endless(&model, &pool, 3);
    let prompts = prompts();
    let ids = [0, 1, 2].map(|i| engine.submit(&prompts[i], 8).unwrap());
    let mut listener = Listener::default();
    let mut step = 0;
    while !engine.is_idle() {
        let mut receive = |event: Event<'_>| match event {
            // The client took two tokens and left.
            Event::Token { id, .. } if id == ids[1] && step >= 2 => {
                assert_eq!(step, 2, "it ends at once");
                Delivery::ReceiverGone
            }
            Event::Finished { id, .. } if id == ids[1] => {
                assert_eq!(step, 2, "its end is in the same step");
                Delivery::ReceiverGone
            }
            event => listener.take(event),
        };
        engine.step(&mut receive).unwrap();
        engine.check_invariants();
        let free = usize::from(step >= 2) + if step >= 7 { 2 } else { 0 };
        assert_eq!(engine.memory.num_free(), free);
        step += 1;
    }
    let single = Single::new(&model);
    for i in [0, 2] {
        assert_eq!(listener.tokens[&ids[i]], single.answer(&prompts[i], 8, 64).0);
    }
    assert_eq!(listener.tokens[&ids[1]].len(), 2);
}

/// Statuses as they are seen between two steps and in a trace.
#[test]
fn a_request_goes_from_waiting_over_prefilling_to_decoding() {
    let (model, pool) = (stories(), Pool::new(1));
    let mut engine = endless(&model, &pool, 1);
    engine.submit(&text(3, 1), 2).unwrap();
    assert_eq!(engine.queues.waiting[0].status, Status::Waiting);
    let first = trace::step(&mut engine, &mut |_| Delivery::Taken).unwrap().unwrap();
    assert_eq!(first.computed[0].status, Status::Prefilling);
    assert_eq!(engine.queues.running[0].status, Status::Decoding);
    let second = trace::step(&mut engine, &mut |_| Delivery::Taken).unwrap().unwrap();
    assert_eq!(second.computed[0].status, Status::Decoding);
    assert!(engine.is_idle());
}
