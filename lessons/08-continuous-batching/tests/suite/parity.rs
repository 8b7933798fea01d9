//! The ragged pass against lesson 06, bit for bit: whatever stands beside a row, however its text is cut, whatever
//! cache is behind it.

use crate::common::{Part, batch_of, engine, ids, stories, text};
use continuous_batching::forward::forward;
use continuous_batching::oracle::listener::Listener;
use continuous_batching::oracle::single::Single;
use continuous_batching::{Batch, KvCache, Memory, Request, SeqId, SlotCache, Slots};
use generation::weights::PlainMatrix;
use generation::{Linear, Model, State, Weights};
use kv_cache::cache::ContiguousCache;
use lab::ledger;
use layout::pool::Pool;
use loading::config::ModelConfig;
use training::TokenId;

/// Slots of 64 tokens.
fn slots(model: &Model, num_slots: usize) -> SlotCache {
    SlotCache::new(&model.config.llama, num_slots, 64)
}

/// Logits of a pass, a vector for each sequence that wants them.
fn run(model: &Model, pool: &Pool, cache: &mut impl KvCache, batch: &Batch) -> Vec<Vec<f32>> {
    let mut state = State::new(&model.config, 0);
    let logits = forward(&model.config, &model.weights, &mut state, cache, pool, batch).unwrap();
    let rows = logits.chunks_exact(model.config.llama.vocab_size);
    rows.map(<[f32]>::to_vec).collect()
}

/// Prompts of 1 to 20 tokens in chunks of several lengths, over both caches.
#[test]
fn a_sequence_in_chunks_has_the_bits_of_lesson_06() {
    let (model, pool) = (stories(), Pool::new(2));
    let single = Single::new(&model);
    for len in [1, 2, 3, 7, 8, 9, 16, 17, 20] {
        let tokens = text(len, 1);
        let expected = single.logits(&tokens);
        for chunk in [1, 3, 8, 20] {
            let mut slots = slots(&model, 3);
            let mut one = ContiguousCache::new(&model.config.llama, 32);
            for (index, part) in tokens.chunks(chunk).enumerate() {
                let batch = batch_of(&[(1, index * chunk, part, true)]);
                let in_slots = run(&model, &pool, &mut slots, &batch);
                let in_one = run(&model, &pool, &mut one, &batch);
                assert_eq!(in_slots.len(), 1, "one row of logits");
                assert_eq!(
                    in_slots, in_one,
                    "length {len}, chunks of {chunk}: the two caches differ"
                );
                if (index + 1) * chunk >= len {
                    assert_eq!(in_slots[0], expected, "length {len}, chunks of {chunk}");
                }
            }
        }
    }
}

/// Prompts of several lengths, decoding rows and a chunk in the middle of its prompt, all in one pass and in two
/// orders.
#[test]
fn the_bits_of_a_row_do_not_depend_on_its_company() {
    let model = stories();
    let single = Single::new(&model);
    let texts: [Vec<TokenId>; 5] = [(5, 1), (1, 2), (12, 3), (20, 4), (9, 5)].map(|(len, seed)| text(len, seed));
    for threads in [1, 2, 3] {
        let pool = Pool::new(threads);
        for order in [[0, 1, 2, 3, 4], [4, 2, 0, 3, 1]] {
            let mut cache = slots(&model, 6);
            // First pass: prompts 0, 2 and 4 as a whole, the others but for the last token.
            let part = |i: usize| {
                let whole = i.is_multiple_of(2);
                let len = texts[i].len() - usize::from(!whole);
                (i as u32, 0, &texts[i][..len], whole)
            };
            let parts: Vec<Part<'_>> = order.map(part).into_iter().filter(|part| !part.2.is_empty()).collect();
            let logits = run(&model, &pool, &mut cache, &batch_of(&parts));
            let sampling: Vec<&Part<'_>> = parts.iter().filter(|part| part.3).collect();
            assert_eq!(logits.len(), sampling.len());
            for (part, logits) in sampling.iter().zip(&logits) {
                assert_eq!(*logits, single.logits(part.2), "sequence {}, order {order:?}", part.0);
            }
            // Second pass: the last tokens of 1 and 3, beside a new prompt.
            let late = text(6, 9);
            let last = |i: usize| (i as u32, texts[i].len() - 1, &texts[i][texts[i].len() - 1..], true);
            let parts = [last(1), (5, 0, &late[..], true), last(3)];
            let logits = run(&model, &pool, &mut cache, &batch_of(&parts));
            assert_eq!(logits[0], single.logits(&texts[1]));
            assert_eq!(logits[1], single.logits(&late));
            assert_eq!(logits[2], single.logits(&texts[3]));
        }
    }
}

/// What stands in a slot behind its owner's positions is never read: neither what an earlier owner left nor NaN.
#[test]
fn stale_content_after_slot_reuse_is_never_read() {
    let (model, pool) = (stories(), Pool::new(2));
    let single = Single::new(&model);
    let mut cache = slots(&model, 1);
    run(&model, &pool, &mut cache, &batch_of(&[(0, 0, &text(40, 7), true)]));

    let short = text(6, 8);
    let first = run(&model, &pool, &mut cache, &batch_of(&[(0, 0, &short[..5], true)]));
    assert_eq!(first[0], single.logits(&short[..5]));

    let mut memory = Slots::new(1, 64);
    let _ = memory.admit(&mut Request::new(SeqId(0), &short, 1, 64));
    assert!(Memory::<()>::grow(&mut memory, SeqId(0), 5));
    cache.overwrite_unused(&memory, f32::NAN);
    let second = run(&model, &pool, &mut cache, &batch_of(&[(0, 5, &short[5..], true)]));
    assert_eq!(second[0], single.logits(&short));
}

/// A pass that is computed again gives the same, and a text may go on otherwise from an earlier position. Lesson 06's
/// cache resumes there.
#[test]
fn rows_may_be_computed_again() {
    #[track_caller]
    fn check(model: &Model, cache: &mut impl KvCache) {
        let (pool, single) = (Pool::new(2), Single::new(model));
        let (tokens, other) = (text(10, 1), text(4, 2));
        for _ in 0..2 {
            let logits = run(model, &pool, cache, &batch_of(&[(0, 0, &tokens, true)]));
            assert_eq!(logits[0], single.logits(&tokens));
        }
        let logits = run(model, &pool, cache, &batch_of(&[(0, 6, &other, true)]));
        assert_eq!(logits[0], single.logits(&[&tokens[..6], &other].concat()));
    }
    let model = stories();
    check(&model, &mut slots(&model, 1));
    check(&model, &mut ContiguousCache::new(&model.config.llama, 16));
}

/// Copies of a batch are made before its rows are computed, and also where there is no row.
#[test]
fn copies_are_made_before_the_rows_also_in_an_empty_batch() {
    let (model, pool) = (stories(), Pool::new(2));
    let single = Single::new(&model);
    let tokens = text(9, 1);
    let mut cache = slots(&model, 3);
    run(&model, &pool, &mut cache, &batch_of(&[(0, 0, &tokens[..8], false)]));
    let mut empty = batch_of(&[]);
    empty.copies.push((0, 2));
    let (logits, counted) = ledger::measure(|| run(&model, &pool, &mut cache, &empty));
    assert!(logits.is_empty());
    assert_eq!((counted.multiply_adds, counted.steps), (0, 0), "no row is computed");

    // Slot 1 is a copy of the copy, made at the beginning of the pass that reads it.
    let mut batch = batch_of(&[(1, 8, &tokens[8..], true), (2, 8, &tokens[8..], true)]);
    batch.copies = vec![(2, 1)];
    let expected = single.logits(&tokens);
    let logits = run(&model, &pool, &mut cache, &batch);
    assert!(logits[0] == expected, "the copy that is made first in its pass");
    assert!(logits[1] == expected, "the copy that was made in an empty batch");
}

/// Token ids and positions are checked before a row is computed.
#[test]
fn a_refused_batch_changes_nothing() {
    let (model, pool) = (stories(), Pool::new(1));
    let single = Single::new(&model);
    let tokens = text(6, 1);
    let mut cache = slots(&model, 2);
    run(&model, &pool, &mut cache, &batch_of(&[(0, 0, &tokens[..5], true)]));
    let mut state = State::new(&model.config, 0);
    let (unknown, far) = (ids(&[1, 2048]), text(513, 1));
    for (part, error) in [
        ((1, 0, &unknown[..], true), "token id 2048"),
        ((1, 0, &far[..], true), "found 0 in the cache and 513 more"),
    ] {
        // The first sequence is in order, and is not computed either.
        let batch = batch_of(&[(0, 4, &[TokenId(7)], true), part]);
        let (config, weights) = (&model.config, &model.weights);
        let refused = forward(config, weights, &mut state, &mut cache, &pool, &batch);
        let found = refused.unwrap_err().to_string();
        assert!(found.contains(error), "{found}");
    }
    let logits = run(&model, &pool, &mut cache, &batch_of(&[(0, 5, &tokens[5..], true)]));
    assert_eq!(logits[0], single.logits(&tokens));
}

/// A gap would be read as if it had been written: lesson 06's cache knows its length and refuses.
#[test]
#[should_panic(expected = "positions of a sequence have no gap")]
fn a_gap_between_stored_positions_is_a_bug_of_the_workbook() {
    let config = continuous_batching::oracle::config(8);
    let mut cache = ContiguousCache::new(&config, 8);
    let batch = batch_of(&[(0, 3, &[TokenId(1)], true)]);
    KvCache::append(
        &mut cache,
        0,
        &batch,
        &vec![0.0; config.q_size() + 2 * config.kv_size()],
    );
}

/// Models of other architectures: the engine gives each request the tokens of lesson 05's naive loop, and the ragged
/// pass gives a row the bits of lesson 05's pass.
#[test]
fn other_architectures_run_through_the_engine_as_through_the_naive_loop() {
    for name in ["mistral-untied-bf16", "qwen2-tied-bf16", "qwen3-untied-f16"] {
        let model = Model::open(fixtures::model(name).to_str().unwrap()).unwrap();
        let pool = Pool::new(2);
        let prompt = |len: usize, salt: u32| {
            (0..len as u32)
                .map(|i| TokenId(3 + (i * 97 + salt * 41) % 260))
                .collect()
        };
        let prompts: [Vec<TokenId>; 5] =
            [(3, 1), (11, 2), (1, 3), (20, 4), (8, 5)].map(|(len, salt)| prompt(len, salt));
        let mut engine = engine(&model, &pool, 3, 64);
        for prompt in &prompts {
            engine.submit(prompt, 12).unwrap();
        }
        let mut listener = Listener::default();
        engine.run(&mut |event| listener.take(event)).unwrap();
        let mut state = State::new(&model.config, 0);
        for (id, prompt) in prompts.iter().enumerate() {
            let naive = model.generate(&mut state, &pool, prompt, 12, &mut |_| {}).unwrap();
            assert_eq!(listener.tokens[&SeqId(id as u64)], naive.tokens, "{name}, request {id}");
        }
        let mut cache = slots(&model, 5);
        let parts: Vec<Part<'_>> = (0..)
            .zip(&prompts)
            .map(|(slot, prompt)| (slot, 0, &prompt[..], true))
            .collect();
        let logits = run(&model, &pool, &mut cache, &batch_of(&parts));
        for (logits, prompt) in logits.iter().zip(&prompts) {
            assert_eq!(logits, model.forward(&mut state, &pool, prompt).unwrap(), "{name}");
        }
    }
}

/// Weights of any kind: the plain matrix sums in the order of the packed one.
#[test]
fn plain_weights_give_the_same_bits() {
    let folder = loading::open(fixtures::model("some-kv-tied-bf16").to_str().unwrap()).unwrap();
    let config: &ModelConfig = &folder.config;
    let plain = Weights::read_f32(&config.llama, &*folder.weights, &PlainMatrix::from_f32).unwrap();
    let packed = Weights::packed_f32(&config.llama, &*folder.weights).unwrap();
    fn logits<L: Linear>(config: &ModelConfig, weights: &Weights<L>) -> Vec<f32> {
        let mut state = State::new(config, 0);
        let mut cache = SlotCache::new(&config.llama, 2, 16);
        let (a, b) = (ids(&[5, 9, 3]), ids(&[7]));
        let batch = batch_of(&[(0, 0, &a, true), (1, 0, &b, true)]);
        let logits = forward(config, weights, &mut state, &mut cache, &Pool::new(1), &batch);
        logits.unwrap().to_vec()
    }
    assert_eq!(logits(config, &plain), logits(config, &packed));
}
