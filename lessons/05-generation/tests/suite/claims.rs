//! The claims of this lesson, as counts.

use crate::common::{fixture, fixture_folders, open, small_pool};
use generation::forward::forward;
use generation::limits::rows_of_naive_loop;
use generation::work::Work;
use generation::{State, Weights};
use lab::ledger;
use training::TokenId;

fn tokens(len: usize) -> Vec<TokenId> {
    (0..len).map(|i| TokenId(i as u32 % 200)).collect()
}

/// G1: 64 tokens after a prompt of 12 compute 2784 rows, of which 75 are different.
#[test]
fn naive_generation_recomputes_the_whole_prefix() {
    let mut model = fixture("all-kv-untied-f32");
    model.config.eos_token_ids.clear();
    let pool = small_pool();
    let mut state = State::new(&model.config, 1);
    let (generation, counted) =
        ledger::measure(|| model.generate(&mut state, &pool, &tokens(12), 64, &mut |_| {}).unwrap());
    assert_eq!(generation.tokens.len(), 64);
    assert_eq!(generation.rows_recomputed(), 2784);
    assert_eq!(rows_of_naive_loop(12, 64), 2784);
    assert_eq!(counted.get("positions"), 2784);
}

/// G1: the cost of one token grows with the length before it, and the formula gives the cost: the ledger's count equals
/// the count from shapes, for every fixture and length.
#[test]
fn counted_multiply_adds_equal_the_formula() {
    for (path, _) in fixture_folders() {
        let folder = open(&path);
        let (config, pool) = (&folder.config, small_pool());
        let weights = Weights::packed_f32(&config.llama, &*folder.weights).unwrap();
        let mut state = State::new(config, 64);
        let mut before = 0;
        for len in [1, 2, 7, 64] {
            let (_, counted) =
                ledger::measure(|| forward(config, &weights, &mut state, &pool, &tokens(len)).map(|_| ()));
            let work = Work::of_forward(&config.llama, &weights, len);
            assert_eq!(counted.multiply_adds, work.multiply_adds(), "{len} rows");
            assert!(counted.multiply_adds > before);
            before = counted.multiply_adds;
        }
    }
}

/// The head multiplies one row, whatever the length.
#[test]
fn the_head_runs_on_the_last_row_only() {
    let folder = open(&fixtures::model("all-kv-untied-f32"));
    let llama = &folder.config.llama;
    let head = (llama.vocab_size * llama.hidden_size) as u64;
    let per_row = |rows| Work::of_shape(llama, rows).linear_multiply_adds - head;
    assert_eq!(per_row(10), 10 * per_row(1));
}

/// The work of one row equals lesson 03's formula for the shape.
#[test]
fn one_row_costs_what_the_config_says() {
    let config = training::LlamaConfig::stories();
    assert_eq!(
        Work::of_shape(&config, 1).multiply_adds(),
        config.multiply_adds_per_token(1)
    );
}
