//! Running the tests of a group.
//!
//! Each test runs in a process of its own. So an endless loop, an abort or a counted allocation in one test says
//! nothing about another, and a limit of time is the limit of one test, which can be named.
//!
//! A verdict never comes from what the learner's code may print. The names are those that the program lists. A test has
//! passed when its process ended with status 0 *and* the test program noted it as passed in its log file (`--logfile`:
//! deprecated, but the only report of a test program on a channel of its own; the status alone would also be 0 after
//! `std::process::exit(0)` in a body). Only the message of a failure is read from the output.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::child::{self, Ended, How};
use crate::error::CourseError;

/// How long the list of tests may take, which runs none.
const LIST_LIMIT: Duration = Duration::from_secs(60);

/// A test that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failed {
    /// The test's name with its group, `ex_05_1_rms_norm::a_row_…`.
    pub name: String,
    /// What it said, without the frame that the test program puts around it.
    pub message: String,
    /// File and line of the panic.
    pub at: Option<(String, usize)>,
    /// Whether it came to no verdict of its own: it was late, printed without end, or ended its whole process.
    pub was_cut: bool,
}

/// What a run of tests came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Names of the tests that passed.
    pub passed: Vec<String>,
    /// The tests that failed.
    pub failed: Vec<Failed>,
    /// The first test that did not end in time. No test was started after it.
    pub late: Option<String>,
}

impl Ran {
    /// Number of tests that were run.
    pub fn num_tests(&self) -> usize {
        self.passed.len() + self.failed.len()
    }
}

/// Runs the tests whose names contain `filter` (all for an empty one), as many at once as there are cores. `switch` is
/// passed to a twin of `verify`.
///
/// # Errors
/// When the program can not be run, or was stopped by the reader.
pub fn run(program: &Path, folder: &Path, filter: &str, switch: &str, limit: Duration) -> Result<Ran, CourseError> {
    let mut names = list(program, folder)?;
    names.retain(|name| name.contains(filter));
    let (next, is_late) = (AtomicUsize::new(0), AtomicBool::new(false));
    let outcomes = Mutex::new(Vec::new());
    let work = || {
        while !is_late.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(name) = names.get(index) else { return };
            let outcome = one(program, folder, name, switch, limit);
            if matches!(outcome, Ok(Outcome::Late)) {
                is_late.store(true, Ordering::Relaxed);
            }
            outcomes.lock().expect("no worker panics").push((index, outcome));
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        // This thread works too: where the system refuses others, it does their share.
        for _ in 1..workers.min(names.len()) {
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut outcomes = outcomes.into_inner().expect("no worker panics");
    outcomes.sort_by_key(|(index, _)| *index);
    let mut ran = Ran::default();
    for (index, outcome) in outcomes {
        let name = names[index].clone();
        match outcome? {
            Outcome::Passed => ran.passed.push(name),
            Outcome::Failed(failed) => ran.failed.push(failed),
            Outcome::Late => {
                ran.late.get_or_insert_with(|| name.clone());
                let message = format!("it did not end within {} seconds", limit.as_secs());
                ran.failed.push(Failed {
                    name,
                    message,
                    at: None,
                    was_cut: true,
                });
            }
        }
    }
    Ok(ran)
}

enum Outcome {
    Passed,
    Failed(Failed),
    Late,
}

fn one(program: &Path, folder: &Path, name: &str, switch: &str, limit: Duration) -> Result<Outcome, CourseError> {
    const ACTION: &str = "make room in the folder for temporary files";
    let log = tempfile::NamedTempFile::new().map_err(CourseError::io(std::env::temp_dir(), ACTION))?;
    let mut command = Command::new(program);
    // The output goes straight to the pipe, where it has a limit, and not into the test program's memory.
    command
        .args(["--exact", name, "--nocapture", "--color", "never", "--logfile"])
        .arg(log.path());
    let ended = start(command.env("COURSE_SWITCH", switch), folder, limit)?;
    let noted = std::fs::read_to_string(log.path()).unwrap_or_default();
    let has = |word: &str| noted.lines().any(|line| line == format!("{word} {name}"));
    let (mut message, mut at) = panic_of(&ended);
    let mut was_cut = true;
    match ended.how {
        How::Late => return Ok(Outcome::Late),
        How::TooMuchOutput => {
            message = format!("it printed more than {} KiB and was ended", child::MOST_OUTPUT >> 10);
        }
        How::Exited(status) if status.success() && has("ok") => return Ok(Outcome::Passed),
        How::Exited(_) if has("failed") => was_cut = false,
        How::Exited(status) => {
            let said: Vec<&str> = ended
                .stderr
                .lines()
                .filter(|line| !line.contains("`--logfile`"))
                .collect();
            let said = said[said.len().saturating_sub(8)..].join("\n");
            message = format!("it ended the whole program ({status})\n{said}")
                .trim_end()
                .to_owned();
        }
    }
    if was_cut {
        at = None;
    }
    Ok(Outcome::Failed(Failed {
        name: name.to_owned(),
        message,
        at,
        was_cut,
    }))
}

/// Starts a program with learner's code, and waits for its end.
pub fn start(command: &mut Command, folder: &Path, limit: Duration) -> Result<Ended, CourseError> {
    // A learner's run writes no snapshots, and no variable of the reader's own shell changes it.
    command
        .current_dir(folder)
        .env("INSTA_UPDATE", "no")
        .env("RUST_BACKTRACE", "0")
        .env("CARGO_MANIFEST_DIR", folder)
        // A generated case that fails is told, not written beside the tests, and not made smaller first.
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        // The same cases each time: red or green depends on the code and not on luck.
        .env("PROPTEST_CASES", "64")
        .env("PROPTEST_RNG_SEED", "1")
        .env_remove("RUST_TEST_THREADS")
        .env_remove("RUST_TEST_NOCAPTURE");
    child::run(command, limit).map_err(|error| match error.kind() {
        std::io::ErrorKind::Interrupted => CourseError::Twin {
            problem: "the tests were stopped".to_owned(),
            action: "run this again".to_owned(),
        },
        _ => CourseError::io(command.get_program(), "check the exercise again")(error),
    })
}

/// Message and place of the first panic. A test that fails without one says why on its standard output.
fn panic_of(ended: &Ended) -> (String, Option<(String, usize)>) {
    let is_head = |line: &&str| line.starts_with("thread '") && line.contains("panicked at ");
    let mut lines = ended.stderr.lines().skip_while(|line| !is_head(line));
    let Some(head) = lines.next() else {
        let said = ended.stdout.rsplit_once(" stdout ----\n").map_or("", |(_, said)| said);
        let said = said.split("\n\n").next().unwrap_or_default();
        return (said.trim_start_matches("note: ").trim_end().to_owned(), None);
    };
    let place = head.rsplit("panicked at ").next().unwrap_or_default();
    let mut parts = place.trim_end_matches(':').rsplitn(3, ':');
    let (_, line, file) = (parts.next(), parts.next(), parts.next());
    let at = file.zip(line.and_then(|line| line.parse().ok()));
    let is_end = |line: &&str| {
        line.starts_with("note: run with `RUST_BACKTRACE") || line.starts_with("stack backtrace:") || is_head(line)
    };
    let message: Vec<&str> = lines.take_while(|line| !is_end(line)).collect();
    (
        in_our_words(message.join("\n").trim_end()),
        at.map(|(file, line)| (file.to_owned(), line)),
    )
}

/// `left` and `right` of `assert_eq!` are what was found and what was expected: the lessons' tests give them in this
/// order.
fn in_our_words(message: &str) -> String {
    let Some(rest) = message.strip_prefix("assertion `left == right` failed") else {
        return message.to_owned();
    };
    let rest = rest.strip_prefix(": ").unwrap_or(rest);
    let in_words = |line: &str| match (line.strip_prefix("  left: "), line.strip_prefix(" right: ")) {
        (Some(found), _) => format!("found:    {found}"),
        (_, Some(expected)) => format!("expected: {expected}"),
        _ => line.to_owned(),
    };
    let lines: Vec<String> = rest.lines().filter(|line| !line.is_empty()).map(in_words).collect();
    lines.join("\n")
}

/// The names of all tests in the program.
pub fn list(program: &Path, folder: &Path) -> Result<Vec<String>, CourseError> {
    let ended = start(
        Command::new(program).args(["--list", "--format", "terse"]),
        folder,
        LIST_LIMIT,
    )?;
    let names = ended.stdout.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(ToOwned::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(stdout: &str, stderr: &str) -> Ended {
        let how = How::Exited(std::process::ExitStatus::default());
        Ended {
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            how,
        }
    }

    #[test]
    fn a_failure_keeps_its_message_and_place() {
        let stderr = "warning: `--logfile` is deprecated\none line of the learner's\n\nthread 'ex_05_1_a::second' (77) panicked at ../lessons/05-x/tests/exercises.rs:25:9:\nassertion `left == right` failed: the tail\n  left: [1, 2]\n right: [1, 3]\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        let (message, at) = panic_of(&ended("", stderr));
        assert_eq!(message, "the tail\nfound:    [1, 2]\nexpected: [1, 3]");
        assert_eq!(at, Some(("../lessons/05-x/tests/exercises.rs".to_owned(), 25)));
        assert_eq!(in_our_words("index out of bounds"), "index out of bounds");
    }

    #[test]
    fn a_failure_without_a_panic_says_what_was_expected() {
        let stdout =
            "failures:\n\n---- ex_05_1_a::third stdout ----\nnote: test did not panic as expected\n\nfailures:\n";
        assert_eq!(panic_of(&ended(stdout, "")).0, "test did not panic as expected");
    }
}
