//! Error texts. They are fixed here, so that each change of a text is intended.

use crate::common::{fixture, ids};
use generation::chat::Message;
use generation::{GenerateError, Model, State};
use layout::pool::Pool;
use training::TokenId;

#[track_caller]
fn says(error: GenerateError, text: &str) {
    assert_eq!(error.to_string(), text);
}

fn forward(model: &Model, tokens: &[u32]) -> GenerateError {
    let result = model
        .forward(&mut State::new(&model.config, 1), &Pool::new(1), &ids(tokens))
        .map(|_| ());
    result.unwrap_err()
}

#[test]
fn an_empty_prompt_is_an_error_that_says_what_to_do() {
    let model = fixture("all-kv-untied-f32");
    says(
        forward(&model, &[]),
        "the prompt is empty: expected at least one token; give some text with --prompt",
    );
}

#[test]
fn a_prompt_over_the_context_is_an_error_with_both_lengths() {
    let model = fixture("all-kv-untied-f32");
    let len = model.config.llama.max_seq_len + 1;
    says(
        forward(&model, &vec![1; len]),
        &format!(
            "the prompt has {len} tokens, expected at most {}, the context of this model; shorten it",
            len - 1
        ),
    );
}

#[test]
fn a_token_outside_the_vocabulary_is_an_error() {
    let model = fixture("all-kv-untied-f32");
    let vocab_size = model.config.llama.vocab_size;
    says(
        forward(&model, &[1, vocab_size as u32]),
        &format!(
            "token id {vocab_size}: expected an id below {vocab_size}, the model's vocabulary; the tokenizer belongs to another model"
        ),
    );
}

#[test]
fn a_chat_without_a_template_is_an_error() {
    says(
        fixture("all-kv-untied-f32")
            .encode_chat(&[Message::user("hello")])
            .unwrap_err(),
        "all-kv-untied-f32 has no chat template in tokenizer_config.json or chat_template.jinja; leave --chat out, or choose an instruction-tuned model",
    );
}

#[test]
fn damaged_weights_are_an_error_not_a_token() {
    let mut model = fixture("all-kv-untied-f32");
    model.weights.norm.fill(f32::NAN);
    let mut state = State::new(&model.config, 1);
    let error = model
        .generate(&mut state, &Pool::new(1), &[TokenId(1)], 3, &mut |_| {})
        .unwrap_err();
    says(
        error,
        "the logit of token 0 is not a number: the weights are damaged; check them with `cargo run -p lesson04 -- verify`",
    );
}

#[test]
fn a_model_that_does_not_exist_is_an_error_with_the_names_that_do() {
    let error = Model::open("storeis").map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("`stories`"), "{error}");
}

#[test]
fn the_predictions_of_the_story_are_complete() {
    lab::story::check_predictions(include_str!("../../course.toml"));
}
