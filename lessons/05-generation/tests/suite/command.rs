//! The commands of the binary, on a fixture folder.

use serde_json::Value;
use std::process::{Command, Output};

fn lesson05(model: &str, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lesson05"));
    command.args(["--model", fixtures::model(model).to_str().unwrap(), "--threads", "1"]);
    command.args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// `--json` prints one document with the text that a run without it streams.
#[test]
fn generate_prints_one_document_and_streams_the_same_text() {
    let args = ["generate", "--prompt", "Once upon a time", "--tokens", "9"];
    let streamed = lesson05("some-kv-tied-bf16", &args);
    assert!(streamed.status.success());
    let output = lesson05("some-kv-tied-bf16", &[&args[..], &["--json"]].concat());
    assert!(output.status.success());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        text(&streamed.stdout),
        format!("{}\n", document["text"].as_str().unwrap())
    );
    let new_tokens = document["tokens"].as_array().unwrap().len();
    assert!(document["prompt_tokens"].as_u64().unwrap() > 0);
    assert_eq!(document["timings"]["token_ms"].as_array().unwrap().len(), new_tokens);
    let finish_reason = document["finish_reason"].as_str().unwrap();
    assert!(finish_reason == "stop" || (finish_reason == "length" && new_tokens == 9));
}

/// The command gives the tokens of `transformers` for a text, up to the end of the answer.
#[test]
fn generate_gives_the_greedy_tokens_of_transformers_for_other_architectures() {
    for name in ["mistral-untied-bf16", "qwen2-tied-bf16", "qwen3-untied-f16"] {
        let golden = fixtures::golden(name);
        let case = golden.case("text");
        let count = case.greedy_tokens.len().to_string();
        let prompt = case.text.as_deref().unwrap();
        let output = lesson05(name, &["generate", "--prompt", prompt, "--tokens", &count, "--json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let found: Vec<u32> = serde_json::from_value(document["tokens"].clone()).unwrap();
        let is_end = |token: &u32| golden.eos_token_ids.contains(token);
        let end = case
            .greedy_tokens
            .iter()
            .position(is_end)
            .map_or(case.greedy_tokens.len(), |end| end + 1);
        assert_eq!(found, case.greedy_tokens[..end], "{name}");
        assert!(found.len() > 4, "{name}: only {} tokens compared", found.len());
    }
}

#[test]
fn zero_tokens_are_an_empty_answer() {
    let output = lesson05(
        "some-kv-tied-bf16",
        &["generate", "--prompt", "Once", "--tokens", "0", "--json"],
    );
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["tokens"], serde_json::json!([]));
    assert_eq!(
        (&document["text"], &document["finish_reason"]),
        (&"".into(), &"length".into())
    );
}

#[test]
fn a_chat_uses_the_models_own_form() {
    let args = ["generate", "--prompt", "Hello", "--tokens", "3", "--json"];
    let plain: Value = serde_json::from_slice(&lesson05("some-kv-tied-bf16", &args).stdout).unwrap();
    let chat = lesson05("some-kv-tied-bf16", &[&args[..], &["--chat"]].concat());
    let chat: Value = serde_json::from_slice(&chat.stdout).unwrap();
    assert!(chat["prompt_tokens"].as_u64() > plain["prompt_tokens"].as_u64());
}

/// A mistake ends with status 1, nothing on stdout, and one line on stderr that says what to do.
#[test]
fn a_mistake_is_one_line_on_stderr() {
    for (args, advice) in [
        (&["generate"][..], "give one with --prompt"),
        (&["generate", "--prompt", ""], "give some text with --prompt"),
        (&["generate", "--prompt", "x", "--chat"], "leave --chat out"),
    ] {
        let output = lesson05("all-kv-untied-f32", args);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
        let message = text(&output.stderr);
        assert!(
            message.starts_with("error: ") && message.lines().count() == 1,
            "{message}"
        );
        assert!(message.contains(advice), "{message}");
    }
}

#[test]
fn output_that_can_not_be_written_is_quiet_or_an_error_never_a_panic() {
    let model = fixtures::model("some-kv-tied-bf16");
    for args in [
        &["generate", "--prompt", "Once"][..],
        &["generate", "--prompt", "Once", "--json"],
    ] {
        fixtures::unwritten(|| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_lesson05"));
            command
                .args(args)
                .args(["--tokens", "5", "--threads", "1", "--model"])
                .arg(&model);
            command
        })
        .check();
    }
}

/// A prompt that leaves no room for what the story does is refused; the story does not wait for tokens that never come.
#[test]
fn a_prompt_without_room_behind_it_is_refused() {
    fixtures::refuses_long_prompts(env!("CARGO_BIN_EXE_lesson05"), &[511, 600]);
}

#[test]
fn a_short_context_is_enough_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    fixtures::tells_or_refuses_short_contexts(env!("CARGO_BIN_EXE_lesson05"), folder.path(), &[8, 40, 64]);
}

#[test]
fn an_empty_prompt_is_refused() {
    fixtures::refuses_an_empty_prompt(env!("CARGO_BIN_EXE_lesson05"));
}
