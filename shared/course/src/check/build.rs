//! One call of cargo, and what it says: the programs it built, and the errors of the compiler with their places.

use std::path::{Component, Path, PathBuf};
use std::process::{Output, Stdio};

use serde::Deserialize;

use crate::child;
use crate::data::verify::no_cargo;
use crate::error::CourseError;
use crate::tools::{Course, last_words};
use crate::twin::{Twin, manifest};

/// What to build of the learner's crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The exercise tests and the costs, with the checks that tests are built with.
    Check,
    /// The story and the costs, as a lesson is run.
    Run,
}

/// What a call of cargo built, as far as the code compiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// The programs, by the name of their target.
    pub programs: Vec<(String, PathBuf)>,
    /// The errors of the compiler.
    pub refusals: Vec<Refusal>,
    /// Errors that are about no line of code: of the linker, when the disk is full for one.
    without_place: Vec<String>,
}

impl Built {
    /// The program of a target.
    pub fn program(&self, target: &str) -> Option<&Path> {
        let found = self.programs.iter().find(|(name, _)| name == target);
        found.map(|(_, program)| program.as_path())
    }
}

/// An error of the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The cargo target that was being built.
    pub target: String,
    /// The error in one line.
    pub message: String,
    /// The error as rustc draws it.
    pub rendered: String,
    /// Files and lines that it is about, the most telling first. Absolute, without `..`.
    pub places: Vec<(PathBuf, usize)>,
}

/// Builds what the goal asks for, with the stand-ins of [`crate::source::mirror`] or without. The first time, cargo's
/// own progress is shown: it takes minutes.
///
/// # Errors
/// When cargo is missing, was stopped, or fails for another reason than the code.
pub fn build(course: &Course, twin: &Twin, goal: Goal, with_stand_ins: bool) -> Result<Built, CourseError> {
    let package = twin.package();
    let (tests, costs) = (format!("{package}-exercises"), format!("{package}-costs"));
    let (mut words, mark) = match goal {
        Goal::Check => (vec!["test", "--no-run", "--example", &tests], "built"),
        Goal::Run => (vec!["build", "--bin", &package], "built-to-run"),
    };
    words.extend(["--package", &package]);
    if with_stand_ins {
        words.extend(["--features", "fallback"]);
    }
    if manifest::has_costs(twin) {
        words.extend(["--example", &costs]);
    }
    let mark = twin.folder.join(".fill").join(mark);
    let built = cargo(course, &twin.work, &words, !mark.exists())?;
    if built.refusals.is_empty() {
        // Only a mark: a build that is not announced is no harm.
        let _ = std::fs::write(mark, "");
    }
    Ok(built)
}

/// Builds the exercise tests of several verify twins at once.
pub fn build_all(course: &Course, twins: &[Twin]) -> Result<Built, CourseError> {
    let Some(first) = twins.first() else {
        return Ok(Built::default());
    };
    let packages: Vec<String> = twins.iter().map(Twin::package).collect();
    let tests: Vec<String> = packages.iter().map(|package| format!("{package}-exercises")).collect();
    let mut words = vec!["test", "--no-run"];
    for (package, tests) in packages.iter().zip(&tests) {
        words.extend(["--package", package, "--example", tests]);
    }
    let built = cargo(course, &first.work, &words, true)?;
    match built.refusals.first() {
        None => Ok(built),
        Some(refusal) => Err(CourseError::Twin {
            problem: format!("a lesson does not compile:\n{}", refusal.rendered),
            action: "mend the lesson, or the fault that is planted in it".to_owned(),
        }),
    }
}

/// Builds the tests of a workspace's default packages, as far as they compile.
pub fn build_tests(course: &Course, workspace: &Path) -> Result<Built, CourseError> {
    // As `cargo test --no-run`, which stops at the first error.
    let words = ["build", "--profile", "test", "--tests", "--keep-going"];
    cargo(course, workspace, &words, true)
}

/// Calls cargo. With `shows` its own progress is on the reader's terminal.
fn cargo(course: &Course, folder: &Path, words: &[&str], shows: bool) -> Result<Built, CourseError> {
    let mut command = course.cargo.command();
    command
        .current_dir(folder)
        .args(words)
        .args(["--message-format", "json"]);
    // Warnings are about unfinished code as often as not; the tests say what counts.
    command.stderr(if shows { Stdio::inherit() } else { Stdio::piped() });
    let output = match child::output(&mut command) {
        Err(error) if error.kind() != std::io::ErrorKind::Interrupted => return Err(no_cargo(course, error)),
        Ok(output) if output.status.code().is_some() && !child::is_stopped() => output,
        _ => {
            return Err(CourseError::Twin {
                problem: "cargo was stopped".to_owned(),
                action: "run this again".to_owned(),
            });
        }
    };
    let built = messages(&output.stdout, folder);
    if !output.status.success() && built.refusals.is_empty() {
        return Err(failed(&output, &built.without_place));
    }
    Ok(built)
}

fn failed(output: &Output, without_place: &[String]) -> CourseError {
    let said = match without_place.first() {
        Some(error) => last_words(error, 4),
        None if output.stderr.is_empty() => "its own message stands above".to_owned(),
        None => last_words(&String::from_utf8_lossy(&output.stderr), 4),
    };
    CourseError::Twin {
        problem: format!("cargo could not build the learner's crate: {said}"),
        action: "in a fresh clone this needs the network once; `cargo course doctor` looks for other reasons"
            .to_owned(),
    }
}

/// One line of cargo's output.
#[derive(Deserialize)]
struct Line {
    reason: String,
    target: Option<Target>,
    message: Option<Message>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Message {
    message: String,
    level: String,
    #[serde(default)]
    spans: Vec<Span>,
    rendered: Option<String>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: usize,
    is_primary: bool,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

fn messages(stdout: &[u8], work: &Path) -> Built {
    let mut built = Built::default();
    for line in String::from_utf8_lossy(stdout).lines() {
        let Ok(line) = serde_json::from_str::<Line>(line) else {
            continue;
        };
        match (line.reason.as_str(), line.target, line.executable) {
            ("compiler-artifact", Some(target), Some(program)) => {
                built.programs.push((target.name, program));
            }
            ("compiler-message", target, _) => {
                let Some(message) = line.message.filter(|message| message.level == "error") else {
                    continue;
                };
                if !message.spans.is_empty() {
                    let target = target.map(|target| target.name).unwrap_or_default();
                    built.refusals.push(refusal(target, message, work));
                } else if !message.message.starts_with("aborting due to") {
                    let text = message.rendered.unwrap_or(message.message);
                    built.without_place.push(text);
                }
            }
            _ => {}
        }
    }
    built
}

fn refusal(target: String, message: Message, work: &Path) -> Refusal {
    let mut places = Vec::new();
    for is_primary in [true, false] {
        for span in &message.spans {
            let mut span = Some(span).filter(|span| span.is_primary == is_primary);
            // From inside a macro out to where it was written.
            while let Some(at) = span {
                places.push((absolute(work, &at.file_name), at.line_start));
                span = at.expansion.as_ref().map(|expansion| &expansion.span);
            }
        }
    }
    Refusal {
        target,
        rendered: message
            .rendered
            .unwrap_or_else(|| format!("error: {}\n", message.message)),
        message: message.message,
        places,
    }
}

/// `file` seen from `folder`, with every `..` resolved by name.
pub fn absolute(folder: &Path, file: impl AsRef<Path>) -> PathBuf {
    let mut out = PathBuf::new();
    for part in folder.join(file).components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_with_the_place_outside_of_macros() {
        let line = r#"{"reason":"compiler-message","target":{"name":"generation"},"message":{"message":"mismatched types","level":"error","rendered":"error: …\n","spans":[{"file_name":"lesson05/src/../.fill/05.1.rs","line_start":2,"is_primary":true,"expansion":{"span":{"file_name":"lesson05/src/kernels.rs","line_start":9,"is_primary":false,"expansion":null}}}]}}"#;
        let built = r#"{"reason":"compiler-artifact","target":{"name":"my-lesson05-exercises"},"executable":"/t/x"}"#;
        let read = messages(format!("{line}\n{built}\nnoise\n").as_bytes(), Path::new("/w"));
        assert_eq!(
            read.refusals[0].places,
            [
                (PathBuf::from("/w/lesson05/.fill/05.1.rs"), 2),
                (PathBuf::from("/w/lesson05/src/kernels.rs"), 9)
            ]
        );
        assert_eq!(
            read.programs,
            [("my-lesson05-exercises".to_owned(), PathBuf::from("/t/x"))]
        );
    }

    #[test]
    fn an_error_without_a_place_is_still_said() {
        let lines = r#"{"reason":"compiler-message","target":{"name":"x"},"message":{"message":"linking with `cc` failed","level":"error","rendered":"error: linking with `cc` failed\n  = note: ld: final link failed: No space left on device\n","spans":[]}}
{"reason":"compiler-message","target":{"name":"x"},"message":{"message":"aborting due to 1 previous error","level":"error","rendered":"error: aborting due to 1 previous error\n","spans":[]}}"#;
        let read = messages(lines.as_bytes(), Path::new("/w"));
        assert!(read.refusals.is_empty());
        let output = Output {
            status: Default::default(),
            stdout: Vec::new(),
            stderr: Vec::new(),
        };
        let text = failed(&output, &read.without_place).to_string();
        assert!(text.contains("No space left on device"), "{text}");
        assert_eq!(read.without_place.len(), 1);
    }
}
