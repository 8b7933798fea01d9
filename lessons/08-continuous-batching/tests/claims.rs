//! What the lesson claims, as counts.

mod common;

use common::{batch_of, engine, ids, stories, text};
use continuous_batching::forward::forward;
use continuous_batching::oracle::listener::Listener;
use continuous_batching::runner::NoModel;
use continuous_batching::{Engine, EngineLimits, Memory, Request, SeqId, SlotCache, Slots};
use generation::State;
use lab::ledger;
use layout::pool::Pool;
use static_batching::plan::{StepRequest, static_plan};
use static_batching::workload::Lengths;
use training::TokenId;

/// Steps that both ways need for these answers, all there from the beginning, with so many places.
fn steps(new_tokens: &[usize], places: usize) -> (u64, u64) {
    let requests: Vec<StepRequest> = (new_tokens.iter())
        .map(|new_tokens| StepRequest {
            arrives: 0,
            prompt_tokens: 1,
            new_tokens: *new_tokens,
        })
        .collect();
    let limits = EngineLimits {
        max_running: places,
        max_new_tokens: usize::MAX,
        max_seq_len: 1 << 20,
        vocab_size: 1,
        end_of_text: Vec::new(),
    };
    let mut engine = Engine::new(NoModel::new(1), Slots::new(places, 1 << 20), limits);
    for new_tokens in new_tokens {
        engine.submit(&[TokenId(0)], *new_tokens).unwrap();
    }
    let mut listener = Listener::default();
    engine.run(&mut |event| listener.take(event)).unwrap();
    (static_plan(&requests, places).steps(), engine.num_steps())
}

/// C1 and C3 in steps: a static batch lasts as long as its longest answer, so what is gained is the mean longest over the mean length.
/// Equal lengths gain nothing.
#[test]
fn the_gain_is_large_for_mixed_lengths_and_nothing_for_equal_ones() {
    let equal = [16; 64];
    let (waits, joins) = steps(&equal, 8);
    assert_eq!(waits, joins);
    assert_eq!(waits, 8 * 16);

    let lengths = Lengths::exponential(1, 64.0, 100_000);
    let mixed: Vec<usize> = (0..2000).map(|i| lengths.at(7, i).1).collect();
    let (waits, joins) = steps(&mixed, 8);
    let gain = waits as f64 / joins as f64;
    // The mean of the longest of 8 exponential lengths is 1 + 1/2 + … + 1/8 = 2.72 means.
    assert!((2.5..2.9).contains(&gain), "{waits} steps against {joins}: {gain}");
}

/// No step computes a row that nobody asked for: prompts once, and each token of an answer but the last once.
#[test]
fn every_row_is_somebodys_and_computed_once() {
    let (model, pool) = (stories(), Pool::new(1));
    let mut engine = engine(&model, &pool, 3, 64);
    engine.limits.end_of_text.clear();
    let requests = [(3, 5), (9, 1), (1, 8), (4, 0), (2, 2), (7, 6)];
    for (prompt, new_tokens) in requests {
        engine.submit(&text(prompt, 1), new_tokens).unwrap();
    }
    let mut listener = Listener::default();
    let (_, counted) = ledger::measure(|| engine.run(&mut |event| listener.take(event)).unwrap());
    let rows: usize = (requests.iter())
        .filter(|(_, new_tokens)| *new_tokens > 0)
        .map(|(prompt, new_tokens)| prompt + new_tokens - 1)
        .sum();
    assert_eq!(counted.get("positions"), rows as u64);
    let kv_bytes = kv_cache::memory::kv_bytes(6, 4, 32, rows, 1, 4);
    assert_eq!(counted.get("kv_bytes_written"), kv_bytes);
}

/// The head multiplies the rows that sample, all in one product, and no other row.
#[test]
fn the_head_runs_on_sampling_rows_only() {
    let (model, pool) = (stories(), Pool::new(1));
    let llama = &model.config.llama;
    let multiply_adds = |wants: [bool; 3]| {
        let mut cache = SlotCache::new(llama, 3, 16);
        for id in 0..3 {
            let _ = cache.admit(&mut Request::new(SeqId(id), &ids(&[1]), 1, 16));
        }
        let tokens = [text(5, 1), text(1, 2), text(4, 3)];
        let parts: Vec<_> = (0..3).map(|i| (i as u64, 0, &tokens[i][..], wants[i])).collect();
        let mut state = State::new(&model.config, 0);
        let batch = batch_of(&parts);
        let (rows, counted) = ledger::measure(|| {
            forward(&model.config, &model.weights, &mut state, &mut cache, &pool, &batch)
                .unwrap()
                .len()
        });
        assert_eq!(rows, wants.iter().filter(|wants| **wants).count() * llama.vocab_size);
        counted.multiply_adds
    };
    let head = (llama.vocab_size * llama.hidden_size) as u64;
    let none = multiply_adds([false; 3]);
    assert_eq!(multiply_adds([true, false, true]), none + 2 * head);
    assert_eq!(multiply_adds([true; 3]), none + 3 * head);
}

/// C4: a request that finds a place waits for the step in progress and for nothing else; its first token comes with the next step.
#[test]
fn a_request_that_finds_a_place_gets_its_first_token_in_the_next_step() {
    let limits = EngineLimits {
        max_running: 4,
        max_new_tokens: usize::MAX,
        max_seq_len: 64,
        vocab_size: 1,
        end_of_text: Vec::new(),
    };
    let mut engine = Engine::new(NoModel::new(1), Slots::new(4, 64), limits);
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
