//! The ragged pass against lesson 06, bit for bit: whatever stands beside a row, however its text is cut, whatever cache is behind it.

mod common;

use common::{batch_of, ids, stories, text};
use continuous_batching::forward::forward;
use continuous_batching::oracle::single::Single;
use continuous_batching::{Batch, KvCache, Memory, Request, SeqId, SlotCache};
use generation::weights::PlainMatrix;
use generation::{Linear, Model, State, Weights};
use kv_cache::cache::ContiguousCache;
use lab::ledger;
use layout::pool::Pool;
use loading::config::ModelConfig;
use training::TokenId;

/// A slot cache in which these sequences hold slots, taken in this order.
fn slots_for(model: &Model, num_slots: usize, owners: &[u64]) -> SlotCache {
    let mut cache = SlotCache::new(&model.config.llama, num_slots, 64);
    for owner in owners {
        let mut request = Request::new(SeqId(*owner), &ids(&[1]), 1, 64);
        let _ = cache.admit(&mut request);
        assert!(cache.holds(SeqId(*owner)));
    }
    cache
}

fn run(model: &Model, pool: &Pool, cache: &mut impl KvCache, batch: &Batch) -> Vec<Vec<f32>> {
    batch.check_invariants();
    let mut state = State::new(&model.config, 0);
    let logits = forward(&model.config, &model.weights, &mut state, cache, pool, batch).unwrap();
    logits
        .chunks_exact(model.config.llama.vocab_size)
        .map(<[f32]>::to_vec)
        .collect()
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
            let mut slots = slots_for(&model, 3, &[4, 5]);
            let mut one = ContiguousCache::new(&model.config.llama, 32);
            for (index, part) in tokens.chunks(chunk).enumerate() {
                let batch = batch_of(&[(5, index * chunk, part, true)]);
                let [a] = &run(&model, &pool, &mut slots, &batch)[..] else {
                    panic!("one row of logits");
                };
                let [b] = &run(&model, &pool, &mut one, &batch)[..] else {
                    panic!("one row of logits");
                };
                assert_eq!(a, b, "length {len}, chunks of {chunk}: the two caches differ");
                if (index + 1) * chunk >= len {
                    assert_eq!(*a, expected, "length {len}, chunks of {chunk}");
                }
            }
        }
    }
}

/// Prompts of several lengths, decoding rows and a chunk in the middle of its prompt, all in one pass and in two orders.
#[test]
fn the_bits_of_a_row_do_not_depend_on_company() {
    let model = stories();
    let single = Single::new(&model);
    let texts: Vec<Vec<TokenId>> = [(5, 1), (1, 2), (12, 3), (20, 4), (9, 5)]
        .map(|(len, seed)| text(len, seed))
        .into();
    for threads in [1, 2, 3] {
        let pool = Pool::new(threads);
        for order in [[0, 1, 2, 3, 4], [4, 2, 0, 3, 1]] {
            let mut cache = slots_for(&model, 6, &[3, 0, 4, 1, 2]);
            // First pass: some prompts as a whole, others but for the last token.
            let parts: Vec<_> = order
                .map(|i| {
                    let whole = i % 2 == 0;
                    let len = texts[i].len() - usize::from(!whole);
                    (i as u64, 0, &texts[i][..len], whole)
                })
                .into_iter()
                .filter(|part| !part.2.is_empty())
                .collect();
            let logits = run(&model, &pool, &mut cache, &batch_of(&parts));
            let sampling = parts.iter().filter(|part| part.3);
            assert_eq!(logits.len(), sampling.clone().count());
            for (part, logits) in sampling.zip(&logits) {
                assert_eq!(*logits, single.logits(part.2), "sequence {}, order {order:?}", part.0);
            }
            // Second pass: the last token of those, beside a prompt that comes new.
            let late = text(6, 9);
            let mut parts: Vec<_> = [1, 3]
                .map(|i: usize| {
                    let last = texts[i].len() - 1;
                    (i as u64, last, &texts[i][last..], true)
                })
                .into();
            let mut request = Request::new(SeqId(9), &late, 1, 64);
            let _ = cache.admit(&mut request);
            parts.insert(1, (9, 0, &late, true));
            let logits = run(&model, &pool, &mut cache, &batch_of(&parts));
            assert_eq!(logits[0], single.logits(&texts[1]));
            assert_eq!(logits[1], single.logits(&late));
            assert_eq!(logits[2], single.logits(&texts[3]));
        }
    }
}

/// What stands in a slot beyond its owner's positions is never read: not what an earlier owner left, not even numbers that are none.
#[test]
fn stale_content_after_slot_reuse_is_never_read() {
    let (model, pool) = (stories(), Pool::new(2));
    let single = Single::new(&model);
    let mut cache = slots_for(&model, 1, &[0]);
    run(&model, &pool, &mut cache, &batch_of(&[(0, 0, &text(40, 7), true)]));
    assert!(cache.release(SeqId(0)));
    let short = text(6, 8);
    let _ = cache.admit(&mut Request::new(SeqId(1), &short, 1, 64));
    let slot = cache.slot_of(SeqId(1)).unwrap();
    assert_eq!(cache.slots().len(slot), 0, "a new owner begins with nothing");
    let first = run(&model, &pool, &mut cache, &batch_of(&[(1, 0, &short[..5], true)]));
    assert_eq!(first[0], single.logits(&short[..5]));
    cache.overwrite_unused(f32::NAN);
    let second = run(&model, &pool, &mut cache, &batch_of(&[(1, 5, &short[5..], true)]));
    assert_eq!(second[0], single.logits(&short));
}

/// A pass that is computed again gives the same, and so does a text that is taken back and goes on otherwise.
#[test]
fn rows_may_be_computed_again() {
    let (model, pool) = (stories(), Pool::new(2));
    let single = Single::new(&model);
    let (tokens, other) = (text(10, 1), text(4, 2));
    let mut cache = slots_for(&model, 1, &[0]);
    for _ in 0..2 {
        let logits = run(&model, &pool, &mut cache, &batch_of(&[(0, 0, &tokens, true)]));
        assert_eq!(logits[0], single.logits(&tokens));
    }
    let logits = run(&model, &pool, &mut cache, &batch_of(&[(0, 6, &other, true)]));
    let joined = [&tokens[..6], &other].concat();
    assert_eq!(logits[0], single.logits(&joined));
}

/// Token ids, positions and capacity are checked before anything is written.
#[test]
fn a_refused_batch_changes_nothing() {
    let (model, pool) = (stories(), Pool::new(1));
    let tokens = text(5, 1);
    let mut cache = slots_for(&model, 2, &[0, 1]);
    run(&model, &pool, &mut cache, &batch_of(&[(0, 0, &tokens, true)]));
    let mut state = State::new(&model.config, 0);
    let long = text(65, 1);
    let unknown = ids(&[1, 2048]);
    let far = text(513, 1);
    for (part, said) in [
        ((1, 0, &unknown[..], true), "token id 2048"),
        (
            (1, 0, &long[..], true),
            "the cache holds 0 of 64 positions, expected room for 65 more",
        ),
        ((1, 0, &far[..], true), "found 0 in the cache and 513 more"),
    ] {
        // The first sequence is in order, and must not be touched either.
        let batch = batch_of(&[(0, 5, &tokens[..1], true), part]);
        let (config, weights) = (&model.config, &model.weights);
        let refused = forward(config, weights, &mut state, &mut cache, &pool, &batch);
        let error = refused.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
        let slot = cache.slot_of(SeqId(0)).unwrap();
        assert_eq!(cache.slots().len(slot), 5);
    }
}

#[test]
fn an_empty_batch_computes_nothing() {
    let model = stories();
    let mut cache = slots_for(&model, 1, &[]);
    let (logits, counted) = ledger::measure(|| run(&model, &Pool::new(1), &mut cache, &Batch::default()));
    assert_eq!(logits.len(), 0);
    assert_eq!((counted.multiply_adds, counted.steps), (0, 0));
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
        for id in [0, 1] {
            let _ = cache.admit(&mut Request::new(SeqId(id), &ids(&[1]), 1, 16));
        }
        let (a, b) = (ids(&[5, 9, 3]), ids(&[7]));
        let batch = batch_of(&[(0, 0, &a, true), (1, 0, &b, true)]);
        let pool = Pool::new(1);
        forward(config, weights, &mut state, &mut cache, &pool, &batch)
            .unwrap()
            .to_vec()
    }
    assert_eq!(logits(config, &plain), logits(config, &packed));
}
