//! One call of cargo, and what it says: the programs it built, or the errors of the compiler with their places.

use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::Deserialize;

use crate::child;
use crate::data::verify::no_cargo;
use crate::error::CourseError;
use crate::tools::{Course, last_words};
use crate::twin::{Owner, Twin, manifest};

/// What was built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// The lesson's exercise tests.
    pub tests: PathBuf,
    /// The program that compares costs, where the lesson has one.
    pub costs: Option<PathBuf>,
    /// The lesson's story.
    pub story: PathBuf,
}

/// What to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The exercise tests and the costs, with the checks that tests are built with.
    Check,
    /// The story and the costs, as a lesson is run.
    Run,
}

/// How a build ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    /// Everything compiles.
    Done(Programs),
    /// The compiler refuses something.
    Refused(Vec<Refusal>),
}

/// The tests of a whole workspace, as far as they compile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuiltTests {
    /// The test programs, by the name of their target.
    pub programs: Vec<(String, PathBuf)>,
    /// What the compiler refuses.
    pub refusals: Vec<Refusal>,
}

/// An error of the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The target that it was building.
    pub target: String,
    /// In a line.
    pub message: String,
    /// As rustc draws it.
    pub rendered: String,
    /// Files and lines that it is about, the most telling first. Absolute, without `..`.
    pub places: Vec<(PathBuf, usize)>,
}

/// Builds what the goal asks for. The first time, cargo's own progress is shown: it takes minutes.
///
/// # Errors
/// When cargo is missing, was stopped, or fails for another reason than the code.
pub fn build(course: &Course, twin: &Twin, goal: Goal, features: &[&str]) -> Result<Built, CourseError> {
    let package = twin.package();
    let mut command = course.cargo.command();
    command.current_dir(&twin.work);
    let (tests, costs) = (format!("{package}-exercises"), format!("{package}-costs"));
    let mark = match goal {
        Goal::Check => {
            command.args(["test", "--no-run", "--example", &tests]);
            twin.folder.join(".fill/built")
        }
        Goal::Run => {
            command.args(["build", "--bin", &package]);
            twin.folder.join(".fill/built-to-run")
        }
    };
    command.args(["--message-format", "json", "--package", &package]);
    if !features.is_empty() {
        command.args(["--features", &features.join(",")]);
    }
    if manifest::has_costs(twin) {
        command.args(["--example", &costs]);
    }
    let output = run(course, &mut command, !mark.exists())?;
    let read = messages(&output.stdout, &twin.work);
    let mut programs = Programs::default();
    for (name, program) in read.programs {
        if name == tests {
            programs.tests = program;
        } else if name == costs {
            programs.costs = Some(program);
        } else if name == package {
            programs.story = program;
        }
    }
    if output.status.success() {
        // Only a mark: a build that is not announced is no harm.
        let _ = std::fs::write(mark, "");
        return Ok(Built::Done(programs));
    }
    if read.refusals.is_empty() {
        return Err(failed(&output, &read.without_place));
    }
    Ok(Built::Refused(read.refusals))
}

/// Builds the verify twins of several lessons at once: the programs with their tests, by name. With `only_stubs` the libraries are
/// compiled and not built, with every body left unwritten.
///
/// # Errors
/// As [`build`]; here an error of the compiler is one too.
pub fn build_all(course: &Course, twins: &[Twin], only_stubs: bool) -> Result<Vec<(String, PathBuf)>, CourseError> {
    let Some(first) = twins.first() else {
        return Ok(Vec::new());
    };
    debug_assert!(first.owner == Owner::Verify);
    let mut command = course.cargo.command();
    command.current_dir(&first.work);
    if only_stubs {
        command.args(["check", "--lib", "--features", "stubs"]);
    } else {
        command.args(["test", "--no-run"]);
    }
    command.args(["--message-format", "json"]);
    for twin in twins {
        let package = twin.package();
        command.args(["--package", &package]);
        if !only_stubs {
            command.args(["--example", &format!("{package}-exercises")]);
        }
    }
    let output = run(course, &mut command, true)?;
    let read = messages(&output.stdout, &first.work);
    match read.refusals.first() {
        Some(refusal) => Err(CourseError::Twin {
            problem: format!("a lesson does not compile:\n{}", refusal.rendered),
            action: "mend the lesson".to_owned(),
        }),
        None if output.status.success() => Ok(read.programs),
        None => Err(failed(&output, &read.without_place)),
    }
}

/// Builds the tests of a workspace's default packages, as far as they compile: the programs by name, and what the compiler refuses.
///
/// # Errors
/// When cargo is missing, was stopped, or fails for another reason than the code.
pub fn build_tests(course: &Course, workspace: &Path) -> Result<BuiltTests, CourseError> {
    let mut command = course.cargo.command();
    command.current_dir(workspace).args([
        // As `cargo test --no-run`, which stops at the first error.
        "build",
        "--profile",
        "test",
        "--tests",
        "--keep-going",
    ]);
    command.args(["--message-format", "json"]);
    let output = run(course, &mut command, true)?;
    let read = messages(&output.stdout, workspace);
    if !output.status.success() && read.refusals.is_empty() {
        return Err(failed(&output, &read.without_place));
    }
    Ok(BuiltTests {
        programs: read.programs,
        refusals: read.refusals,
    })
}

fn run(course: &Course, command: &mut Command, shows: bool) -> Result<Output, CourseError> {
    // Warnings are about unfinished code as often as not; the tests say what counts.
    command.stderr(if shows { Stdio::inherit() } else { Stdio::piped() });
    let stopped = || CourseError::Twin {
        problem: "cargo was stopped".to_owned(),
        action: "run this again".to_owned(),
    };
    match child::output(command) {
        Ok(output) if output.status.code().is_some() && !child::is_stopped() => Ok(output),
        Ok(_) => Err(stopped()),
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Err(stopped()),
        Err(error) => Err(no_cargo(course, error)),
    }
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

#[derive(Default)]
struct Read {
    programs: Vec<(String, PathBuf)>,
    refusals: Vec<Refusal>,
    /// Errors that are about no line of code: of the linker, when the disk is full for one.
    without_place: Vec<String>,
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

fn messages(stdout: &[u8], work: &Path) -> Read {
    let mut read = Read::default();
    for line in String::from_utf8_lossy(stdout).lines() {
        let Ok(line) = serde_json::from_str::<Line>(line) else {
            continue;
        };
        match (line.reason.as_str(), line.target, line.executable) {
            ("compiler-artifact", Some(target), Some(program)) => {
                read.programs.push((target.name, program));
            }
            ("compiler-message", target, _) => {
                let Some(message) = line.message.filter(|message| message.level == "error") else {
                    continue;
                };
                if !message.spans.is_empty() {
                    let target = target.map(|target| target.name).unwrap_or_default();
                    read.refusals.push(refusal(target, message, work));
                } else if !message.message.starts_with("aborting due to") {
                    let text = message.rendered.unwrap_or(message.message);
                    read.without_place.push(text);
                }
            }
            _ => {}
        }
    }
    read
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
