//! Our numbers against those of an outside reference: `transformers` in f32. The values were made by
//! `shared/fixtures/scripts/goldens.py`, never by our own code, and belong to one checkpoint by its sha256.

mod common;

use common::{Zeroed, fixture_folders, forward_all_rows, small_pool, stories};
use fixtures::{Golden, Rows};
use generation::forward::forward;
use generation::generate::{generate, greedy};
use generation::weights::PlainMatrix;
use generation::{Limits, Linear, State, Weights};
use layout::packed::PackedMatrix;
use loading::config::ModelConfig;
use std::path::Path;
use training::TokenId;

fn ids(tokens: &[u32]) -> Vec<TokenId> {
    tokens.iter().copied().map(TokenId).collect()
}

/// Largest difference of any recorded logit, as a share of the bound: below one, the golden holds.
fn worst_of<L: Linear>(golden: &Golden, config: &ModelConfig, weights: &Weights<L>) -> f32 {
    let pool = small_pool();
    let mut worst = 0.0f32;
    for case in &golden.cases {
        let tokens = ids(&case.prompt_tokens);
        let rows = match case.rows {
            Rows::All => forward_all_rows(config, weights, &pool, &tokens),
            Rows::Last => {
                let mut state = State::new(config, tokens.len());
                vec![forward(config, weights, &mut state, &pool, &tokens).unwrap().to_vec()]
            }
        };
        assert_eq!(rows.len(), case.logits.len());
        for (row, expected) in rows.iter().zip(&case.logits) {
            for (actual, expected) in row.iter().zip(expected) {
                let difference = (actual - expected).abs() / golden.bound();
                // A NaN compares as false with everything, so ask for the good case.
                worst = if difference <= worst { worst } else { difference };
            }
        }
    }
    worst
}

#[track_caller]
fn check_folder(path: &Path, golden: &Golden) {
    let folder = loading::open(path.to_str().unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let config = &folder.config;
    assert_eq!(golden.tolerance, 2e-4);

    let packed = Weights::packed_f32(&config.llama, &*folder.weights).unwrap();
    let worst = worst_of(golden, config, &packed);
    assert!(worst <= 1.0, "{}: {worst} times the bound", golden.model);

    let pool = small_pool();
    for case in &golden.cases {
        let limits = Limits {
            max_new_tokens: case.greedy_tokens.len(),
            max_seq_len: config.llama.max_seq_len,
            end_of_text: Vec::new(),
        };
        let mut state = State::new(config, 1);
        let generation = generate(
            &ids(&case.prompt_tokens),
            &limits,
            &mut |tokens| greedy(forward(config, &packed, &mut state, &pool, tokens)?),
            &mut |_| {},
        );
        let tokens = generation.unwrap().tokens;
        assert_eq!(tokens, ids(&case.greedy_tokens), "{} {}", golden.model, case.name);
    }
}

#[track_caller]
fn check_controls(path: &Path, golden: &Golden) {
    let folder = loading::open(path.to_str().unwrap()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(golden.controls.len(), 20);
    for control in &golden.controls {
        let source = Zeroed {
            inner: &*folder.weights,
            tensor: &control.tensor,
            row: control.row,
        };
        let weights = Weights::packed_f32(&folder.config.llama, &source).unwrap();
        let worst = worst_of(golden, &folder.config, &weights);
        assert!(
            worst > 1.0,
            "{}: {} row {} is zero and nobody notices",
            golden.model,
            control.tensor,
            control.row
        );
    }
}

/// Logits of every fixture folder within 2e-4 of the largest one, greedy tokens equal.
#[test]
fn logits_and_greedy_tokens_of_every_fixture_equal_transformers() {
    for (path, golden) in fixture_folders() {
        check_folder(&path, &golden);
    }
}

/// The same for the model that this repository trained. When it was trained on, this asks for new golden values.
#[test]
fn logits_and_greedy_tokens_of_stories_equal_transformers() {
    let (path, golden) = stories();
    check_folder(&path, &golden);
}

/// A test that stays green with damaged weights tests nothing: zero any of twenty rows, and the check above must fail.
#[test]
fn zeroing_any_control_row_of_a_fixture_is_noticed() {
    for (path, golden) in fixture_folders() {
        check_controls(&path, &golden);
    }
}

/// The same for the trained model.
#[test]
fn zeroing_any_control_row_of_stories_is_noticed() {
    let (path, golden) = stories();
    check_controls(&path, &golden);
}

/// End-of-text ids are the union of all sources; the reference script reads the same three files by itself.
#[test]
fn end_of_text_is_the_union_of_all_sources() {
    for (path, golden) in fixture_folders() {
        let folder = loading::open(path.to_str().unwrap()).unwrap();
        assert_eq!(
            folder.config.eos_token_ids,
            ids(&golden.eos_token_ids),
            "{}",
            golden.model
        );
    }
}

/// The packed, threaded product gives the bits of three plain loops, through the whole model; and bf16 weights that came as bf16 give
/// the bits of their f32 copies.
#[test]
fn every_way_to_store_weights_gives_the_same_bits() {
    for (path, golden) in fixture_folders() {
        let folder = loading::open(path.to_str().unwrap()).unwrap();
        let (config, source) = (&folder.config, &*folder.weights);
        let tokens = ids(&golden.case("short").prompt_tokens);
        let pool = small_pool();
        let packed: Weights<PackedMatrix> = Weights::packed_f32(&config.llama, source).unwrap();
        let packed = forward_all_rows(config, &packed, &pool, &tokens);
        let plain = Weights::read_f32(&config.llama, source, &PlainMatrix::from_f32).unwrap();
        assert_eq!(
            packed,
            forward_all_rows(config, &plain, &pool, &tokens),
            "{}",
            golden.model
        );
        if golden.model.ends_with("bf16") {
            let bf16 = Weights::packed_bf16(&config.llama, source).unwrap();
            assert_eq!(
                packed,
                forward_all_rows(config, &bf16, &pool, &tokens),
                "{}",
                golden.model
            );
        }
    }
}

/// The chat template's text and ids equal those that transformers renders.
#[test]
fn chat_templates_render_as_in_transformers() {
    let mut rendered = 0;
    for (path, golden) in fixture_folders() {
        let Some(chat) = &golden.tokenizer.chat else {
            continue;
        };
        let model = generation::Model::open(path.to_str().unwrap()).unwrap();
        let messages: Vec<_> = chat
            .messages
            .iter()
            .map(|m| generation::chat::Message {
                role: m.role.clone(),
                content: m.content.clone(),
            })
            .collect();
        assert_eq!(
            model.encode_chat(&messages).unwrap(),
            ids(&chat.ids),
            "{}",
            golden.model
        );
        rendered += 1;
    }
    assert!(rendered >= 1);
}
