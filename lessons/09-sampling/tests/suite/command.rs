//! The binary from outside, on a fixture folder.

use serde_json::Value;
use std::process::{Command, Output, Stdio};

fn lesson09(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lesson09"));
    let model = fixtures::model("some-kv-tied-bf16");
    command.args(["--threads", "1", "--model", model.to_str().unwrap()]);
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

const BASE: [&str; 4] = ["generate", "Once upon a time", "--tokens", "12"];

/// The answers in the --json document of [`BASE`] with more flags.
fn answers(flags: &[&str]) -> Vec<Value> {
    let output = lesson09(&[&BASE, flags, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["answers"].as_array().unwrap().clone()
}

fn text(answer: &Value) -> &str {
    answer["text"].as_str().unwrap()
}

fn tokens(answer: &Value) -> &Vec<Value> {
    answer["tokens"].as_array().unwrap()
}

#[test]
fn a_seed_decides_the_text() {
    assert_eq!(answers(&["--seed", "1"]), answers(&["--seed", "1"]));
    assert_ne!(answers(&["--seed", "1"]), answers(&["--seed", "2"]));
}

/// Three answers at once differ, and two of them are those that two get.
#[test]
fn more_answers_do_not_change_the_first_ones() {
    let (two, three) = (answers(&["--answers", "2"]), answers(&["--answers", "3"]));
    assert_eq!(two[..], three[..2]);
    assert_ne!(tokens(&three[0]), tokens(&three[1]));
    assert_ne!(tokens(&three[1]), tokens(&three[2]));
}

#[test]
fn plain_output_is_the_text_of_the_document() {
    let plain = String::from_utf8(lesson09(&BASE).stdout).unwrap();
    assert_eq!(plain, format!("Once upon a time{}\n", text(&answers(&[])[0])));
}

/// A part of the answer is the stop: it ends this answer, and not the other one of the batch.
#[test]
fn a_stop_ends_its_own_answer() {
    let whole = answers(&["--answers", "2"]);
    let stop: String = text(&whole[0]).chars().skip(6).take(3).collect();
    let cut = answers(&["--answers", "2", "--stop", &stop]);
    assert_eq!(text(&cut[0]), text(&whole[0]).split(&stop).next().unwrap());
    assert_eq!(cut[0]["finish_reason"], "stop");
    if !text(&whole[1]).contains(&stop) {
        assert_eq!(cut[1], whole[1]);
    }
    let fourth = &tokens(&whole[0])[3];
    let first = tokens(&whole[0]).iter().position(|token| token == fourth).unwrap();
    let by_id = answers(&["--stop-id", &fourth.to_string()]);
    assert_eq!(
        (tokens(&by_id[0]).len(), &by_id[0]["finish_reason"]),
        (first, &"stop".into())
    );
}

/// One entry per token. In a greedy text the chosen token is the likeliest.
#[test]
fn logprobs_stand_beside_their_tokens() {
    let greedy = &answers(&["--temperature", "0", "--logprobs", "2"])[0];
    let logprobs = greedy["logprobs"].as_array().unwrap();
    assert_eq!(logprobs.len(), tokens(greedy).len());
    for (note, token) in logprobs.iter().zip(tokens(greedy)) {
        assert_eq!(&note["chosen"]["token"], token);
        assert_eq!(note["likeliest"][0], note["chosen"]);
        assert!(note["likeliest"][1]["logprob"].as_f64() <= note["chosen"]["logprob"].as_f64());
    }
}

/// Status 1, or 2 from the checks of the flags; nothing on stdout; a message that says what is allowed.
#[test]
fn mistakes_are_explained() {
    for (flags, status, advice) in [
        (&[][..], 1, "give it as an argument or on stdin"),
        (&["Tom", "--temperature", "nan"], 1, "temperature: expected 0"),
        (&["Tom", "--top-p", "1.5"], 1, "top_p: expected a number above 0"),
        (&["Tom", "--answers", "0"], 1, "expected 1 to 64"),
        (&["Tom", "--bias", "99999=1"], 1, "logit_bias: expected token ids below"),
        (&["Tom", "--bias", "x"], 2, "expected a token id and a number"),
        (&["Tom", "--stop", ""], 1, "at least one character"),
    ] {
        let output = lesson09(&[&["generate"], flags].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        let found = (output.status.code(), output.stdout.len());
        assert_eq!(found, (Some(status), 0), "{message}");
        assert!(message.starts_with("error: ") && message.contains(advice), "{message}");
    }
}
