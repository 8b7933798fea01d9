//! The commands of the program: they succeed, fail with a message, and print documents for machines.

use crate::common::gguf_path;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn lesson04(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lesson04"))
        .args(args)
        .output()
        .unwrap()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn convert_writes_a_folder_that_opens() {
    let temporary = tempfile::tempdir().unwrap();
    let output = lesson04(&[
        "convert",
        path(&gguf_path("bytes.gguf")),
        path(temporary.path()),
        "--json",
    ]);
    assert!(output.status.success(), "{output:?}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["dtype"], &json["tensors"]), (&"F32".into(), &21.into()));
    assert!(crate::common::open(temporary.path()).is_ok());
    let output = lesson04(&[
        "convert",
        path(&gguf_path("bytes.gguf")),
        path(temporary.path()),
        "--dtype",
        "bf16",
    ]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("BF16"));
    let output = lesson04(&["convert", "nowhere.gguf", path(temporary.path())]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("nowhere.gguf: expected"));
}

#[test]
fn verify_tells_good_files_from_bad_ones() {
    let temporary = tempfile::tempdir().unwrap();
    let (good, bad) = (temporary.path().join("good"), temporary.path().join("bad"));
    std::fs::write(&good, "0123456789").unwrap();
    std::fs::write(&bad, "0123456789").unwrap();
    let manifest = temporary.path().join("manifest.json");
    let record = |name: &str| serde_json::json!({"path": name, "bytes": 0, "sha256": "", "licence": "CC0-1.0", "origin": "test"});
    let json = serde_json::json!({"schema": 1, "files": [record("good"), record("bad")]});
    std::fs::write(&manifest, json.to_string()).unwrap();
    let verify = |more: &[&str]| lesson04(&[&["verify", "--manifest", path(&manifest)], more].concat());
    assert!(!verify(&[]).status.success(), "nothing is recorded yet");
    assert!(
        lesson04(&["manifest", "--write", "--manifest", path(&manifest)])
            .status
            .success()
    );
    assert!(verify(&[]).status.success());
    std::fs::write(&bad, "0123456788").unwrap();
    let output = verify(&["--json"]);
    assert!(!output.status.success());
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&json["bad"], &json["files"][0]["ok"], &json["files"][1]["ok"]),
        (&1.into(), &true.into(), &false.into())
    );
    let digest = loading::manifest::sha256_file(&good).unwrap();
    assert!(lesson04(&["verify", path(&good), "--sha256", &digest]).status.success());
    assert!(!lesson04(&["verify", path(&bad), "--sha256", &digest]).status.success());
    assert!(
        !lesson04(&["verify", path(&bad)]).status.success(),
        "a file needs a digest"
    );
}

#[test]
fn a_load_reports_its_peak() {
    let folder = fixtures::model("some-kv-tied-bf16");
    let output = lesson04(&["peak", path(&folder), "whole file"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["heap_bytes"].as_u64().unwrap() > 148_896 * 3, "{json}");
    assert!(!lesson04(&["peak", path(&folder), "sideways"]).status.success());
}

/// The repository's own files are as recorded.
#[test]
fn files_of_the_repository_are_as_recorded() {
    let output = lesson04(&["verify"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// As for every program: the one writer ends quietly at a closed pipe, and with an error at a full disk.
#[test]
fn output_that_can_not_be_written_is_quiet_or_an_error_never_a_panic() {
    let temporary = tempfile::tempdir().unwrap();
    let gguf = gguf_path("bytes.gguf");
    let convert = ["convert", path(&gguf), path(temporary.path())];
    for args in [
        &["manifest"][..],
        &["manifest", "--json"],
        &["verify"],
        &convert,
        &["--help"],
        &["--version"],
    ] {
        fixtures::unwritten(|| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_lesson04"));
            command.args(args);
            command
        })
        .check();
    }
}
