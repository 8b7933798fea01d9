//! The program's flags: a number outside its range is refused in words before anything is read or written.

use std::process::Command;

#[track_caller]
fn refused(args: &[&str], expected: &str) {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().join("model");
    let output = Command::new(env!("CARGO_BIN_EXE_lesson03"))
        .args(args)
        .args(["--out", folder.to_str().unwrap()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains(expected), "{args:?}: {said}");
    assert!(!said.contains("panicked") && !folder.exists(), "{args:?}: {said}");
}

#[test]
fn numbers_outside_their_range_are_refused() {
    let cases: [(&str, &[&str], &str); 12] = [
        (
            "--batch-size",
            &["0", "-1", "2.5", "1000000000"],
            "a whole number from 1 to 1024",
        ),
        ("--story-share", &["2", "-0.1", "nan", "inf"], "a number from 0 to 1"),
        ("--recital-share", &["1.5", "nan"], "a number from 0 to 1"),
        ("--drill-share", &["2", "x"], "a number from 0 to 1"),
        ("--recital-until", &["-1", "1e9"], "a number from 0 to 1"),
        ("--final-share", &["1.1", "-inf"], "a number from 0 to 1"),
        (
            "--peak-rate",
            &["1e30", "0", "-1", "nan"],
            "a number from 0.000000001 to 1",
        ),
        ("--slot-weight", &["-1", "nan", "1e30"], "a number from 0 to 1000"),
        ("--warmup", &["-1", "1e3"], "a whole number from 0"),
        ("--eval-every", &["0", "x"], "a whole number from 1"),
        ("--tokens", &["-5", "99999999999999999999"], "a whole number from 0"),
        ("--threads", &["0"], "at least one thread"),
    ];
    for (flag, bad, expected) in cases {
        for bad in bad {
            refused(&["train", &format!("{flag}={bad}")], expected);
        }
    }
    refused(&["eval", "--stories=-1"], "a whole number from 0");
    refused(&["peers", "--batch-size=0"], "a whole number from 1");
    refused(&["judge", "stories", "stories", "--pairs=0"], "a whole number from 1");
}
