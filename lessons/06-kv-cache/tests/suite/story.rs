//! The parts of the story that are the same on every machine: its steps, its questions with their options, and its
//! counted tables. Times, verdicts and the model's text are left out. And the command `generate`.

use serde_json::Value;
use std::process::Command;

fn lesson06(model: &str, args: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lesson06"));
    command.args(["--model", fixtures::model(model).to_str().unwrap(), "--threads", "2"]);
    command.args(args).output().expect("the lesson starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Steps with their sentence of why, questions with their options, and the tables that hold counts only.
fn fixed_parts(story: &str) -> String {
    const TABLES: [&str; 4] = ["tokens before", "model  ", "keys of one head", "cache  "];
    let mut kept = Vec::new();
    // While lines are kept: the test for the line that ends them.
    let mut until: Option<fn(&str) -> bool> = None;
    for line in story.lines() {
        let words = line.trim();
        let is_step = line.contains("──") && words.split(" ").next().is_some_and(|n| n.parse::<usize>().is_ok());
        if is_step || words.starts_with("? ") || TABLES.iter().any(|table| words.starts_with(table)) {
            until = Some(match words.starts_with("? ") {
                true => |line| line.is_empty() || line.starts_with('→'),
                false => |line| line.is_empty() || line.contains(":  "),
            });
        }
        match until {
            Some(ends) if !ends(words) => kept.push(match is_step {
                true => words.trim_end_matches(['─', ' ']),
                false => words,
            }),
            Some(_) => {
                kept.push("");
                until = None;
            }
            None => {}
        }
    }
    kept.join("\n") + "\n"
}

#[test]
fn the_story_is_told_step_by_step() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = lesson06("some-kv-tied-bf16", &["--no-pause", "--tokens", "24", "--out", out]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    insta::assert_snapshot!(fixed_parts(&text(&output.stdout)));
    let widest = text(&output.stdout).lines().map(lab::term::width).max();
    assert!(widest <= Some(80), "a line of {widest:?} columns");

    // The document has the claims with their counted verdicts, the baseline of the race and the charts.
    let document = std::fs::read_to_string(folder.path().join("lesson06.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let claims = document["claims"].as_array().unwrap();
    let verdict = |id: &str| {
        let claim = claims.iter().find(|claim| claim["id"] == id);
        claim.unwrap_or_else(|| panic!("no claim {id}"))["verdict"].clone()
    };
    for counted in ["G2", "G4"] {
        assert_eq!(verdict(counted), "holds", "{counted} is decided by counts");
    }
    for timed in ["G3", "G5", "G6"] {
        assert!(verdict(timed).is_string());
    }
    assert!(verdict("G6") != "not_here", "the runs are counted");
    let races = document["races"].as_array().unwrap();
    let tokens = races.iter().find(|race| race["id"] == "tokens").unwrap();
    assert_eq!(tokens["baseline"], "naive, lesson 05");
    for chart in ["tokens", "two-times", "concat", "order"] {
        assert!(folder.path().join(format!("{chart}.svg")).is_file(), "{chart}");
    }
}

/// The document has the fields of lesson 05 and those of lesson 06.
#[test]
fn generate_prints_one_document_and_streams_the_same_text() {
    let args = ["generate", "--prompt", "Once upon a time", "--tokens", "9"];
    let streamed = lesson06("some-kv-tied-bf16", &args);
    assert!(streamed.status.success());
    let output = lesson06("some-kv-tied-bf16", &[&args[..], &["--json"]].concat());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        text(&streamed.stdout),
        format!("{}\n", document["text"].as_str().unwrap())
    );
    let prompt_tokens = document["prompt_tokens"].as_u64().unwrap();
    let new_tokens = document["tokens"].as_array().unwrap().len() as u64;
    if document["finish_reason"] == "length" {
        assert_eq!(document["rows_computed"], prompt_tokens + new_tokens - 1);
    }
    assert!(document["timings"]["ttft_ms"].as_f64() > Some(0.0));
    assert!(document["timings"]["tpot_ms"].as_f64() > Some(0.0));
    assert!(document["kv_bytes"].as_u64() > Some(0));
}

#[test]
fn zero_tokens_are_an_empty_answer() {
    let args = ["generate", "--prompt", "Once", "--tokens", "0", "--json"];
    let output = lesson06("some-kv-tied-bf16", &args);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["tokens"], serde_json::json!([]));
    assert_eq!(
        (&document["text"], &document["finish_reason"]),
        (&"".into(), &"length".into())
    );
    assert_eq!(
        (&document["rows_computed"], &document["timings"]["ttft_ms"]),
        (&0.into(), &Value::Null)
    );
}

/// Status 1, nothing on stdout, one line on stderr that says what to do.
#[test]
fn mistakes_are_one_line_on_stderr() {
    for (args, advice) in [
        (&["generate"][..], "give one with --prompt"),
        (&["generate", "--prompt", ""], "give some text with --prompt"),
        (&["generate", "--prompt", "x", "--chat"], "leave --chat out"),
    ] {
        let output = lesson06("all-kv-untied-f32", args);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
        let message = text(&output.stderr);
        assert!(
            message.starts_with("error: ") && message.lines().count() == 1,
            "{message}"
        );
        assert!(message.contains(advice), "{message}");
    }
}

/// A prompt that leaves no room for what the story does is refused; the story does not wait for tokens that never come.
#[test]
fn a_prompt_without_room_behind_it_is_refused() {
    fixtures::refuses_long_prompts(env!("CARGO_BIN_EXE_lesson06"), &[511, 600]);
}

#[test]
fn a_short_context_is_enough_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    fixtures::tells_or_refuses_short_contexts(env!("CARGO_BIN_EXE_lesson06"), folder.path(), &[8, 40, 64]);
}

#[test]
fn an_empty_prompt_is_refused() {
    fixtures::refuses_an_empty_prompt(env!("CARGO_BIN_EXE_lesson06"));
}
