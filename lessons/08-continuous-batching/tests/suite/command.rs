//! The binary as a user meets it, on a fixture folder.

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs the command with `stdin` as its input.
fn lesson08(model: &str, args: &[&str], stdin: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lesson08"));
    command.args(["--threads", "1", "--model", fixtures::model(model).to_str().unwrap()]);
    command.args(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that needs no input may have ended before it is written.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child.wait_with_output().unwrap()
}

fn document(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

const MODEL: &str = "some-kv-tied-bf16";

/// Two slots or one: the same answers, in the order of the texts.
#[test]
fn answers_do_not_depend_on_the_number_of_slots() {
    let texts = ["Once upon a time", "Tom", "The little dog"];
    let answers = |slots: &str| {
        let args = [&["generate", "--json", "--tokens", "7", "--slots", slots], &texts[..]].concat();
        let document = document(&lesson08(MODEL, &args, ""));
        let of = |answer: &Value, key: &str| answer[key].clone();
        let answers = document["answers"].as_array().unwrap();
        let parts = answers
            .iter()
            .map(|a| (of(a, "prompt"), of(a, "tokens"), of(a, "finish_reason")));
        (parts.collect::<Vec<_>>(), document["steps"].as_u64().unwrap())
    };
    let (alone, alone_steps) = answers("1");
    let (together, together_steps) = answers("3");
    // More slots than texts: what is not needed is not made, and the document says so.
    let args = [&["generate", "--json", "--tokens", "1"], &texts[..]].concat();
    assert_eq!(document(&lesson08(MODEL, &args, ""))["slots"], 3);
    assert_eq!(alone, together);
    assert_eq!(alone.iter().map(|(prompt, _, _)| prompt).collect::<Vec<_>>(), texts);
    assert!(together_steps < alone_steps, "{together_steps} and {alone_steps} steps");
}

/// Plain output is the text and its continuation; texts may come on stdin.
#[test]
fn texts_from_stdin_are_continued_line_by_line() {
    let args = ["generate", "--tokens", "5"];
    let output = lesson08(MODEL, &args, "Once upon\n\nTom\n");
    let written = String::from_utf8(output.stdout).unwrap();
    let json = document(&lesson08(
        MODEL,
        &[&args[..], &["--json"]].concat(),
        "Once upon\n\nTom\n",
    ));
    for answer in json["answers"].as_array().unwrap() {
        let text = format!(
            "{}{}",
            answer["prompt"].as_str().unwrap(),
            answer["text"].as_str().unwrap()
        );
        assert!(written.contains(&text), "{text:?} in {written:?}");
    }
}

/// Status 1, nothing on stdout, one line on stderr that says what to do.
#[test]
fn mistakes_are_one_line_on_stderr() {
    let long = "x ".repeat(600);
    for (args, advice) in [
        (&["generate"][..], "give them as arguments, or one a line on stdin"),
        (&["generate", "--slots", "0", "Tom"], "expected at least one"),
        (&["generate", "Tom", &long], "shorten the prompt"),
    ] {
        let output = lesson08(MODEL, args, "");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(
            message.starts_with("error: ") && message.lines().count() == 1,
            "{message}"
        );
        assert!(message.contains(advice), "{message}");
    }
}

/// A byte order mark in front of the input is no part of the first text.
#[test]
fn a_mark_in_front_of_stdin_is_no_text() {
    let args = ["generate", "--json", "--tokens", "2"];
    let answers = |input: &str| document(&lesson08(MODEL, &args, input))["answers"].clone();
    let (marked, plain) = (answers("\u{feff}Once upon\nTom\n"), answers("Once upon\nTom\n"));
    for (marked, plain) in marked.as_array().unwrap().iter().zip(plain.as_array().unwrap()) {
        assert_eq!(
            (&marked["prompt"], &marked["tokens"]),
            (&plain["prompt"], &plain["tokens"])
        );
    }
}

#[test]
fn a_fixed_length_is_reached_whatever_the_model_says() {
    let args = ["generate", "--json", "--tokens", "120", "--ignore-eos", "Once", "Tom"];
    let document = document(&lesson08(MODEL, &args, ""));
    for answer in document["answers"].as_array().unwrap() {
        assert_eq!(
            (answer["tokens"].as_array().unwrap().len(), &answer["finish_reason"]),
            (120, &"length".into())
        );
    }
}
