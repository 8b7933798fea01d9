//! The forward pass against passes that must agree with it: the tape model that trained the weights, other numbers of
//! threads, other instruction sets, other lengths of the same text.

use crate::common::{fixture_folders, forward_all_rows, ids, open, small_pool};
use generation::forward::forward;
use generation::{Linear, State, Weights};
use layout::packed::PackedMatrix;
use layout::pool::Pool;
use layout::simd::Isa;
use loading::{ModelFolder, RopeScaling};
use std::sync::Arc;
use training::TokenId;
use training::model::{Llama, NamedTensor};

/// The same weights on lesson 03's tape.
fn on_the_tape(folder: &ModelFolder) -> Llama {
    let tensors: Vec<NamedTensor> = folder
        .weights
        .names()
        .into_iter()
        .map(|name| {
            let mut data = Vec::new();
            folder.weights.read_f32(&name, &mut data).unwrap();
            let shape = folder.weights.info(&name).unwrap().shape;
            NamedTensor { name, shape, data }
        })
        .collect();
    Llama::from_tensors(folder.config.llama.clone(), &tensors, Arc::new(Pool::new(1))).unwrap()
}

/// Within 2e-5 of the largest logit: the two differ in the order of a few sums and in their exponential function only.
#[test]
fn the_tape_model_gives_the_same_logits() {
    let mut compared = 0;
    for (path, golden) in fixture_folders() {
        let folder = open(&path);
        // Lesson 03 trains a Llama without rotary scaling.
        if folder.config.rope_scaling != RopeScaling::None || !folder.config.architecture.added.is_empty() {
            continue;
        }
        let tokens = ids(&golden.case("long").prompt_tokens);
        let taped = on_the_tape(&folder).logits(&tokens);
        let weights = Weights::packed_f32(&folder.config.llama, &*folder.weights).unwrap();
        let ours = forward_all_rows(&folder.config, &weights, &small_pool(), &tokens).concat();
        let taped = taped.as_slice().unwrap();
        fixtures::assert_close(&ours, taped, 2e-5 * fixtures::largest(taped));
        compared += 1;
    }
    assert!(compared >= 4, "only {compared} folders compared");
}

/// The same for the trained model, which lesson 03 reads with its own code.
#[test]
fn the_tape_model_gives_the_same_logits_for_stories() {
    let path = lab::paths::data_dir().join("stories");
    let folder = open(&path);
    let tokens: Vec<TokenId> = (0..100).map(|i| TokenId(i * 97 % 2048)).collect();
    let taped = training::export::read_folder(&path, Arc::new(Pool::new(1)))
        .unwrap()
        .logits(&tokens);
    let weights = Weights::packed_f32(&folder.config.llama, &*folder.weights).unwrap();
    let ours = forward_all_rows(&folder.config, &weights, &small_pool(), &tokens).concat();
    let taped = taped.as_slice().unwrap();
    fixtures::assert_close(&ours, taped, 2e-5 * fixtures::largest(taped));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for (path, golden) in fixture_folders() {
        let folder = open(&path);
        let weights = Weights::packed_f32(&folder.config.llama, &*folder.weights).unwrap();
        let tokens = ids(&golden.case("long").prompt_tokens);
        let one = forward_all_rows(&folder.config, &weights, &Pool::new(1), &tokens);
        for threads in [2, 3, 5] {
            let many = forward_all_rows(&folder.config, &weights, &Pool::new(threads), &tokens);
            assert!(one == many, "{}: {threads} threads", golden.model);
        }
    }
}

/// A matrix that multiplies with a chosen instruction set.
struct On(PackedMatrix, Isa);

impl Linear for On {
    fn out_features(&self) -> usize {
        self.0.out_features()
    }
    fn in_features(&self) -> usize {
        self.0.in_features()
    }
    fn bytes(&self) -> usize {
        self.0.bytes()
    }
    fn matmul(&self, pool: &Pool, x: &[f32], rows: usize, out: &mut [f32]) {
        self.0.matmul_with(self.1, pool, x, rows, out);
    }
    fn row(&self, i: usize, out: &mut [f32]) {
        self.0.row(i, out);
    }
}

/// (`lanes` compares the loops of a row over instruction sets.)
#[test]
fn the_instruction_set_changes_no_bit() {
    let (path, golden) = fixture_folders().swap_remove(1);
    let folder = open(&path);
    let tokens = ids(&golden.case("short").prompt_tokens);
    let logits: Vec<_> = Isa::available()
        .into_iter()
        .map(|isa| {
            let make = |w: &[f32], out, k| On(PackedMatrix::from_f32(w, out, k), isa);
            let weights = Weights::read_f32(&folder.config.llama, &*folder.weights, &make).unwrap();
            forward_all_rows(&folder.config, &weights, &small_pool(), &tokens)
        })
        .collect();
    assert!(logits.windows(2).all(|w| w[0] == w[1]));
}

/// Later tokens do not change earlier rows: the logits of row `i` are those of the prefix that ends with it, bit for
/// bit. A mask that is off by one would fail here.
#[test]
fn a_row_depends_on_nothing_after_it() {
    for (path, golden) in fixture_folders() {
        let folder = open(&path);
        let weights = Weights::packed_f32(&folder.config.llama, &*folder.weights).unwrap();
        let (config, pool) = (&folder.config, small_pool());
        let tokens = ids(&golden.case("long").prompt_tokens);
        let all = forward_all_rows(config, &weights, &pool, &tokens);
        let mut state = State::new(config, 1);
        for len in [1, 2, 3, 15, 16, 17, 31, 33, tokens.len()] {
            let last = forward(config, &weights, &mut state, &pool, &tokens[..len]).unwrap();
            assert!(last == all[len - 1], "{}: prefix of {len}", golden.model);
        }
    }
}

/// A pass leaves nothing in the state that changes a later pass.
#[test]
fn a_used_state_gives_the_logits_of_a_fresh_one() {
    let (path, golden) = fixture_folders().swap_remove(0);
    let folder = open(&path);
    let weights = Weights::packed_f32(&folder.config.llama, &*folder.weights).unwrap();
    let (config, pool) = (&folder.config, small_pool());
    let long = ids(&golden.case("long").prompt_tokens);
    let short = ids(&golden.case("short").prompt_tokens);
    let fresh = forward(config, &weights, &mut State::new(config, 1), &pool, &short)
        .unwrap()
        .to_vec();
    let mut used = State::new(config, 1);
    forward(config, &weights, &mut used, &pool, &long).unwrap();
    assert_eq!(forward(config, &weights, &mut used, &pool, &short).unwrap(), fresh);
}
