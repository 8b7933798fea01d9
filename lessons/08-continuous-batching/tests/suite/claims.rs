//! What the lesson claims, as counts.

use crate::common::{Part, batch_of, engine, scheduler, small_limits, stories, text};
use continuous_batching::forward::forward;
use continuous_batching::oracle::listener::Listener;
use continuous_batching::runner::NoModel;
use continuous_batching::{Delivery, Engine, SlotCache, Slots};
use generation::State;
use lab::ledger;
use layout::pool::Pool;
use static_batching::plan::{StepRequest, static_plan};
use static_batching::workload::Lengths;
use training::TokenId;

/// Steps of static batches and of the engine with `places` places, where all requests are there from the beginning.
fn steps(new_tokens: &[usize], places: usize) -> (u64, u64) {
    let request = |new_tokens: &usize| StepRequest {
        arrives: 0,
        prompt_tokens: 1,
        new_tokens: *new_tokens,
    };
    let requests: Vec<StepRequest> = new_tokens.iter().map(request).collect();
    let max_seq_len = 1 << 20;
    let limits = small_limits(places, max_seq_len);
    let mut engine = Engine::new(NoModel::new(4), Slots::new(places, max_seq_len), limits);
    for new_tokens in new_tokens {
        engine.submit(&[TokenId(0)], *new_tokens).unwrap();
    }
    engine.run(&mut |_| Delivery::Taken).unwrap();
    (static_plan(&requests, places).steps(), engine.num_steps())
}

/// C1 and C3 in steps: a static batch lasts as long as its longest answer, so the gain is the mean longest over the
/// mean length. Equal lengths gain nothing, short or long; mixed ones gain as much whether they are short or long.
#[test]
fn the_gain_follows_the_spread_of_the_lengths_and_not_their_size() {
    for equal in [8, 128] {
        assert_eq!(steps(&[equal; 64], 8), (8 * equal as u64, 8 * equal as u64));
    }
    for (mean, slots, expected) in [(64.0, 8, 2.5..2.9), (8.0, 8, 2.3..2.9), (64.0, 32, 3.5..4.3)] {
        let lengths = Lengths::exponential(1, mean, 100_000);
        let mixed: Vec<usize> = (0..4000).map(|i| lengths.at(7, i).1).collect();
        let (batches, continuous) = steps(&mixed, slots);
        let gain = batches as f64 / continuous as f64;
        // The mean of the longest of n exponential lengths is 1 + 1/2 + … + 1/n means: 2.72 of 8, 4.06 of 32.
        let counted = format!("mean {mean}, {slots} slots: {batches} steps against {continuous}");
        assert!(expected.contains(&gain), "{counted}: {gain}");
    }
}

/// No row is padding: a prompt is computed once, and each token of an answer but the last one once.
#[test]
fn every_row_belongs_to_a_request_and_is_computed_once() {
    let (model, pool) = (stories(), Pool::new(1));
    let mut engine = engine(&model, &pool, 3, 64);
    engine.limits.end_of_text.clear();
    let requests = [(3, 5), (9, 1), (1, 8), (4, 0), (2, 2), (7, 6)];
    for (prompt, new_tokens) in requests {
        engine.submit(&text(prompt, 1), new_tokens).unwrap();
    }
    let (_, counted) = ledger::measure(|| engine.run(&mut |_| Delivery::Taken).unwrap());
    let computed = requests.iter().filter(|(_, new_tokens)| *new_tokens > 0);
    let rows: usize = computed.map(|(prompt, new_tokens)| prompt + new_tokens - 1).sum();
    assert_eq!(counted.get("positions"), rows as u64);
    let kv_bytes = kv_cache::memory::kv_bytes(6, 4, 32, rows, 1, 4);
    assert_eq!(counted.get("kv_bytes_written"), kv_bytes);
}

/// The head multiplies the rows that sample, all in one product, and no other row.
#[test]
fn the_head_runs_on_sampling_rows_only() {
    let (model, pool) = (stories(), Pool::new(1));
    let llama = &model.config.llama;
    let tokens = [text(5, 1), text(1, 2), text(4, 3)];
    let multiply_adds = |wants: [bool; 3]| {
        let mut cache = SlotCache::new(llama, 3, 16);
        let parts: [Part<'_>; 3] = [0, 1, 2].map(|i| (i as u32, 0, &tokens[i][..], wants[i]));
        let mut state = State::new(&model.config, 0);
        let (config, weights, batch) = (&model.config, &model.weights, batch_of(&parts));
        let pass = || {
            forward(config, weights, &mut state, &mut cache, &pool, &batch)
                .unwrap()
                .len()
        };
        let (logits, counted) = ledger::measure(pass);
        assert_eq!(logits, wants.iter().filter(|wants| **wants).count() * llama.vocab_size);
        counted.multiply_adds
    };
    let head = (llama.vocab_size * llama.hidden_size) as u64;
    let none = multiply_adds([false; 3]);
    assert_eq!(multiply_adds([true, false, true]), none + 2 * head);
    assert_eq!(multiply_adds([true; 3]), none + 3 * head);
}

/// C4: a request that finds a place waits for the step in progress and for nothing else; its first token comes with the
/// next step.
#[test]
fn a_request_that_finds_a_place_gets_its_first_token_in_the_next_step() {
    let mut engine = scheduler(4, 4);
    let mut listener = Listener::default();
    for _ in 0..3 {
        engine.submit(&[TokenId(0)], 30).unwrap();
    }
    for _ in 0..7 {
        engine.step(&mut |event| listener.take(event)).unwrap();
    }
    let late = engine.submit(&[TokenId(0); 9], 3).unwrap();
    engine.step(&mut |event| listener.take(event)).unwrap();
    assert_eq!(listener.tokens[&late].len(), 1);
}
