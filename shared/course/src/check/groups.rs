//! Running one group of tests, and reading what the test program prints.

use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::error::CourseError;

/// How long a group may take.
pub const LIMIT: Duration = Duration::from_secs(60);

/// A test that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failed {
    /// `ex_05_1_rms_norm::a_row_…`.
    pub name: String,
    /// What it said, without the frame that the test program puts around it.
    pub message: String,
    /// `file:line` of the panic.
    pub at: Option<(String, usize)>,
}

/// What a run of tests came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Names of the tests that passed.
    pub passed: Vec<String>,
    /// The tests that failed.
    pub failed: Vec<Failed>,
    /// It did not end in time; what it was doing is the last of `failed`.
    pub is_late: bool,
}

impl Ran {
    /// How many tests there were.
    pub fn num_tests(&self) -> usize {
        self.passed.len() + self.failed.len()
    }
}

/// Runs the tests whose names begin with `filter` (all for an empty one). `switch` is passed to a twin of `verify`.
///
/// # Errors
/// When the program can not be run, or was stopped by the reader.
pub fn run(program: &Path, folder: &Path, filter: &str, switch: &str, limit: Duration) -> Result<Ran, CourseError> {
    let ended = start(program, folder, filter, switch, limit, false)?;
    let ran = read(&ended.stdout);
    if ended.is_whole() {
        return Ok(ran);
    }
    // It died or hangs. One test at a time tells which one.
    let ended = start(program, folder, filter, switch, limit, true)?;
    let mut ran = read(&ended.stdout);
    if ended.is_whole() {
        return Ok(ran);
    }
    let message = if ended.is_late {
        format!("it did not end within {} seconds", limit.as_secs())
    } else {
        let said = ended.stderr.trim();
        format!("it ended the whole program\n{said}").trim_end().to_owned()
    };
    ran.is_late = ended.is_late;
    ran.failed.push(Failed {
        name: unfinished(&ended.stdout).unwrap_or_default(),
        message,
        at: None,
    });
    Ok(ran)
}

struct Ended {
    stdout: String,
    stderr: String,
    is_late: bool,
}

impl Ended {
    fn is_whole(&self) -> bool {
        !self.is_late && self.stdout.contains("\ntest result: ")
    }
}

fn start(
    program: &Path,
    folder: &Path,
    filter: &str,
    switch: &str,
    limit: Duration,
    one_by_one: bool,
) -> Result<Ended, CourseError> {
    let mut command = Command::new(program);
    command.current_dir(folder).args(["--color", "never"]);
    if !filter.is_empty() {
        command.arg(filter);
    }
    if one_by_one {
        command.args(["--test-threads", "1"]);
    }
    // A learner's run writes no snapshots, and a switch of the reader's own shell changes nothing.
    command
        .env("INSTA_UPDATE", "no")
        .env("RUST_BACKTRACE", "0")
        .env("CARGO_MANIFEST_DIR", folder)
        .env("COURSE_SWITCH", switch)
        // A generated case that fails is told, not written beside the tests, and not made smaller first.
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .env_remove("RUST_TEST_THREADS")
        .env_remove("RUST_TEST_NOCAPTURE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let unusable = |error| CourseError::io(program, "check the exercise again")(error);
    let mut child = command.spawn().map_err(unusable)?;
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let began = Instant::now();
    let mut is_late = false;
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(unusable)? {
            break status;
        }
        if began.elapsed() > limit {
            is_late = true;
            let _ = child.kill();
            break child.wait().map_err(unusable)?;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    if !is_late && was_stopped(status) {
        return Err(CourseError::Twin {
            problem: "the tests were stopped".to_owned(),
            action: "run this again".to_owned(),
        });
    }
    Ok(Ended {
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
        is_late,
    })
}

fn collect(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            let _ = from.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Ended from outside: Ctrl-C, a closed terminal, a request to end. A crash is the program's own.
#[cfg(unix)]
fn was_stopped(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    matches!(status.signal(), Some(1 | 2 | 3 | 15))
}

#[cfg(not(unix))]
fn was_stopped(status: ExitStatus) -> bool {
    status.code() == Some(0xC000_013A_u32 as i32)
}

/// Reads the ordinary output of a Rust test program.
fn read(stdout: &str) -> Ran {
    let mut ran = Ran::default();
    let mut lines = stdout.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("test ")
            && let Some((name, outcome)) = rest.rsplit_once(" ... ")
        {
            let name = name.trim_end_matches(" - should panic").to_owned();
            match outcome {
                "ok" => ran.passed.push(name),
                outcome if outcome.starts_with("FAILED") => ran.failed.push(Failed {
                    name,
                    ..Failed::default()
                }),
                _ => {}
            }
        }
        let section = line.strip_prefix("---- ");
        let Some(name) = section.and_then(|rest| rest.strip_suffix(" stdout ----")) else {
            continue;
        };
        let mut said = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("---- ") && *line != "failures:") {
            said.push(line);
        }
        if let Some(failed) = ran.failed.iter_mut().find(|failed| failed.name == name) {
            (failed.message, failed.at) = panic_of(&said);
        }
    }
    ran
}

/// The message of the first panic among these lines, and its place.
fn panic_of(said: &[&str]) -> (String, Option<(String, usize)>) {
    let is_head = |line: &&&str| line.starts_with("thread '") && line.contains("panicked at ");
    let Some(head) = said.iter().position(|line| is_head(&line)) else {
        let rest: Vec<&str> = said
            .iter()
            .copied()
            .filter(|line| !line.starts_with("note: "))
            .collect();
        return (rest.join("\n").trim().to_owned(), None);
    };
    let place = said[head].rsplit("panicked at ").next().unwrap_or_default();
    let mut parts = place.trim_end_matches(':').rsplitn(3, ':');
    let (_, line, file) = (parts.next(), parts.next(), parts.next());
    let at = file.zip(line.and_then(|line| line.parse().ok()));
    let message: Vec<&str> = said[head + 1..]
        .iter()
        .copied()
        .take_while(|line| {
            !line.starts_with("note: run with `RUST_BACKTRACE")
                && !line.starts_with("stack backtrace:")
                && !is_head(&line)
        })
        .collect();
    let message = in_our_words(message.join("\n").trim_end());
    (message, at.map(|(file, line)| (file.to_owned(), line)))
}

/// `left` and `right` of `assert_eq!` are what was found and what was expected: the lessons' tests give them in this order.
fn in_our_words(message: &str) -> String {
    let Some(rest) = message.strip_prefix("assertion `left == right` failed") else {
        return message.to_owned();
    };
    let rest = rest.strip_prefix(": ").unwrap_or(rest);
    let lines = rest.lines().filter(|line| !line.is_empty());
    let lines: Vec<String> = lines
        .map(
            |line| match (line.strip_prefix("  left: "), line.strip_prefix(" right: ")) {
                (Some(found), _) => format!("found:    {found}"),
                (_, Some(expected)) => format!("expected: {expected}"),
                _ => line.to_owned(),
            },
        )
        .collect();
    lines.join("\n")
}

/// The test that was begun and not ended.
fn unfinished(stdout: &str) -> Option<String> {
    let last = stdout.lines().last()?;
    let (name, outcome) = last.strip_prefix("test ")?.split_once(" ... ")?;
    let is_open = !["ok", "FAILED", "ignored"].contains(&outcome.trim());
    is_open.then(|| name.to_owned())
}

/// The names of all tests in the program.
///
/// # Errors
/// When it can not be run.
pub fn list(program: &Path, folder: &Path) -> Result<Vec<String>, CourseError> {
    let mut command = Command::new(program);
    let output = command
        .current_dir(folder)
        .args(["--list", "--format", "terse"])
        .output()
        .map_err(CourseError::io(program, "run this again"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(ToOwned::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 3 tests
test ex_05_1_a::first ... ok
test ex_05_1_a::second ... FAILED
test ex_05_1_a::third - should panic ... FAILED

failures:

---- ex_05_1_a::second stdout ----
one line of the learner's

thread 'ex_05_1_a::second' (77) panicked at ../lessons/05-x/tests/exercises.rs:25:9:
assertion `left == right` failed: the tail
  left: [1, 2]
 right: [1, 3]
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

---- ex_05_1_a::third stdout ----
note: test did not panic as expected


failures:
    ex_05_1_a::second
    ex_05_1_a::third

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn a_failure_keeps_its_message_and_place() {
        let ran = read(OUTPUT);
        assert_eq!(ran.passed, ["ex_05_1_a::first"]);
        assert_eq!(ran.num_tests(), 3);
        let second = &ran.failed[0];
        assert_eq!(second.message, "the tail\nfound:    [1, 2]\nexpected: [1, 3]");
        assert_eq!(second.at, Some(("../lessons/05-x/tests/exercises.rs".to_owned(), 25)));
        assert_eq!(ran.failed[1].name, "ex_05_1_a::third");
    }

    #[test]
    fn the_test_that_did_not_end_is_named() {
        assert_eq!(
            unfinished("running 1 test\ntest ex_05_1_a::loops ... ").as_deref(),
            Some("ex_05_1_a::loops")
        );
        assert_eq!(unfinished("test a ... ok\n\ntest result: ok."), None);
    }

    #[test]
    fn other_messages_stay_as_they_are() {
        assert_eq!(in_our_words("index out of bounds"), "index out of bounds");
    }
}
