//! The binary as a user meets it, on a fixture folder.

use serde_json::Value;
use std::process::{Command, Output, Stdio};

fn lesson09(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lesson09"));
    let model = fixtures::model("some-kv-tied-bf16");
    command.args(["--threads", "1", "--model", model.to_str().unwrap()]);
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

fn document(args: &[&str]) -> Value {
    let output = lesson09(&[args, &["--json"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn answers(args: &[&str]) -> Vec<Value> {
    document(args)["answers"].as_array().unwrap().clone()
}

const BASE: [&str; 4] = ["generate", "Once upon a time", "--tokens", "12"];

#[test]
fn a_seed_says_which_text_comes() {
    let with = |seed: &str| answers(&[&BASE[..], &["--seed", seed]].concat());
    assert_eq!(with("1"), with("1"));
    assert_ne!(with("1"), with("2"));
}

/// Three answers at once: each is what it is alone beside fewer, and they differ.
#[test]
fn more_answers_do_not_change_the_first_ones() {
    let of = |count: &str| answers(&[&BASE[..], &["--answers", count]].concat());
    let (two, three) = (of("2"), of("3"));
    assert_eq!(two[..], three[..2]);
    assert_ne!(three[0]["tokens"], three[1]["tokens"]);
    assert_ne!(three[1]["tokens"], three[2]["tokens"]);
}

/// What is printed as it comes is the text of the document.
#[test]
fn plain_output_is_the_text_of_the_document() {
    let output = lesson09(&BASE);
    let plain = String::from_utf8(output.stdout).unwrap();
    let answer = &answers(&BASE)[0];
    assert_eq!(plain, format!("Once upon a time{}\n", answer["text"].as_str().unwrap()));
}

/// A stop cut out of the middle of the answer ends it there, and the rest of the batch goes on.
#[test]
fn a_stop_ends_its_own_answer() {
    let args = [&BASE[..], &["--answers", "2"]].concat();
    let whole = answers(&args);
    let text = whole[0]["text"].as_str().unwrap();
    let stop: String = text.chars().skip(6).take(3).collect();
    let cut = answers(&[&args[..], &["--stop", &stop]].concat());
    assert_eq!(cut[0]["text"].as_str().unwrap(), &text[..text.find(&stop).unwrap()]);
    assert_eq!(cut[0]["finish_reason"], "stop");
    if !whole[1]["text"].as_str().unwrap().contains(&stop) {
        assert_eq!(cut[1], whole[1]);
    }
    let third = whole[0]["tokens"][3].as_u64().unwrap().to_string();
    let first = whole[0]["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .position(|t| t.as_u64().unwrap().to_string() == third);
    let by_id = answers(&[&BASE[..], &["--stop-id", &third]].concat());
    assert_eq!(by_id[0]["tokens"].as_array().unwrap().len(), first.unwrap());
    assert_eq!(by_id[0]["finish_reason"], "stop");
}

/// One entry for each token; of a greedy text the chosen one is the likeliest.
#[test]
fn logprobs_stand_beside_their_tokens() {
    let greedy = answers(&[&BASE[..], &["--temperature", "0", "--logprobs", "2"]].concat());
    let logprobs = greedy[0]["logprobs"].as_array().unwrap();
    let tokens = greedy[0]["tokens"].as_array().unwrap();
    assert_eq!(logprobs.len(), tokens.len());
    for (note, token) in logprobs.iter().zip(tokens) {
        assert_eq!(&note["chosen"]["token"], token);
        assert_eq!(note["likeliest"][0], note["chosen"]);
        assert!(note["likeliest"][1]["logprob"].as_f64() <= note["chosen"]["logprob"].as_f64());
    }
}

/// Status 1 (of the flags' own checks 2), nothing on stdout, and words that say what is allowed.
#[test]
fn mistakes_are_said_in_words() {
    for (args, status, advice) in [
        (&["generate"][..], 1, "give it as an argument or on stdin"),
        (
            &["generate", "Tom", "--temperature", "nan"],
            1,
            "temperature: expected 0",
        ),
        (
            &["generate", "Tom", "--top-p", "1.5"],
            1,
            "top_p: expected a number above 0",
        ),
        (&["generate", "Tom", "--answers", "0"], 1, "expected 1 to 64"),
        (
            &["generate", "Tom", "--bias", "99999=1"],
            1,
            "logit_bias: expected token ids below",
        ),
        (
            &["generate", "Tom", "--bias", "x"],
            2,
            "expected a token id and a number",
        ),
        (&["generate", "Tom", "--stop", ""], 1, "at least one character"),
    ] {
        let output = lesson09(args);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(status), 0),
            "{message}"
        );
        assert!(message.starts_with("error: ") && message.contains(advice), "{message}");
    }
}
