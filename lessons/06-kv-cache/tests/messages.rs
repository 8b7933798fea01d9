//! What a user reads when something is wrong, and the tables that hold no measured number. Fixed here, so that a change is a choice.

mod common;

use common::{small, tokens};
use generation::State;
use kv_cache::shapes::{KvShape, known_models};
use kv_cache::{CacheError, ContiguousCache, forward, session};
use lab::table::Table;
use layout::pool::Pool;
use std::fmt::Write;
use training::TokenId;

#[test]
fn errors_say_what_was_expected_and_what_to_do() {
    let (mut model, pool) = (small(), Pool::new(1));
    model.config.llama.max_seq_len = 10;
    let text = tokens(&model, 12);
    let mut state = State::new(&model.config, 0);
    let mut errors = String::new();
    let mut note = |what: &str, error: CacheError| {
        writeln!(errors, "{what}:\n  {error}").unwrap();
    };
    let mut pass = |capacity: usize, first: usize, then: &[TokenId]| {
        let (config, weights) = (&model.config, &model.weights);
        let mut cache = ContiguousCache::new(&config.llama, capacity);
        forward::forward(config, weights, &mut state, &mut cache, &pool, &text[..first]).unwrap();
        forward::forward(config, weights, &mut state, &mut cache, &pool, then)
            .map(|_| ())
            .unwrap_err()
    };
    note("a chunk that does not fit", pass(8, 5, &text[..4]));
    note("one token too many", pass(8, 8, &text[..1]));
    note("positions that the model has not", pass(20, 8, &text[..3]));
    note("no token", pass(8, 5, &[]));
    note("a token without an embedding", pass(8, 5, &[TokenId(1), TokenId(320)]));
    let mut cache = ContiguousCache::new(&model.config.llama, 8);
    note("a cut beyond what is held", cache.truncate(3).unwrap_err());
    let mut answer = |prompt: &[TokenId]| {
        let mut state = State::new(&model.config, 0);
        session::generate(&model, &mut state, &mut cache, &pool, prompt, 3, &mut |_| {}).unwrap_err()
    };
    note("an empty prompt", answer(&[]));
    note("a prompt that the cache can not hold", answer(&text[..10]));
    note("a prompt that the model can not hold", answer(&text));
    insta::assert_snapshot!(errors);
}

/// What known models keep for each token and for whole texts, in fp16.
#[test]
fn memory_of_known_models() {
    let mut table = Table::new(&[
        "model",
        "layers",
        "q heads",
        "kv heads",
        "bytes a token",
        "2048 tokens",
        "grouping saves",
    ]);
    let stories = KvShape::of("stories", &training::LlamaConfig::stories());
    for model in known_models().into_iter().chain([stories]) {
        // Against one key head for each query head.
        let saved = model.num_heads as f64 / model.num_kv_heads as f64;
        table.row([
            model.name.clone(),
            model.num_layers.to_string(),
            model.num_heads.to_string(),
            model.num_kv_heads.to_string(),
            model.kv_bytes(1, 2).to_string(),
            lab::number::bytes(model.kv_bytes(2048, 2)),
            format!("{} times", lab::number::short(saved)),
        ]);
    }
    insta::assert_snapshot!(table.to_string());
}
