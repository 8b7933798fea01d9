//! Where the course stands and which programs it calls.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::error::CourseError;

/// The workspace and the programs that commands run. Tests put a small tree and stand-ins here.
#[derive(Clone, Debug)]
pub struct Course {
    /// The root of the workspace.
    pub root: PathBuf,
    /// How to call cargo.
    pub cargo: Program,
    /// How to call Python.
    pub python: Program,
    /// How to call the compiler.
    pub rustc: Program,
    /// How long one test of a learner's code may take.
    pub limit: Duration,
}

/// The limit of one test, unless `COURSE_SECONDS` names another.
const LIMIT: Duration = Duration::from_secs(30);

impl Course {
    /// The workbook around the current folder, with `cargo` and `rustc` as the reader's shell finds them (inside this
    /// folder rustup picks the pinned version); `COURSE_PYTHON` names another Python than `python3`. A copy of a
    /// workbook, its `target/` with it, runs a program that was built in another folder: then the root is printed.
    pub fn from_env() -> Self {
        let default = if cfg!(windows) { "python" } else { "python3" };
        let python = std::env::var_os("COURSE_PYTHON").filter(|value| !value.is_empty());
        let seconds = std::env::var("COURSE_SECONDS").ok().and_then(|text| text.parse().ok());
        let root = lab::paths::workspace_root();
        if root != lab::paths::built_in_root() {
            lab::noteln!("workbook: {}", root.display());
        }
        Self {
            root,
            cargo: Program::new("cargo"),
            python: Program::new(python.unwrap_or_else(|| default.into())),
            rustc: Program::new("rustc"),
            limit: seconds.map_or(LIMIT, Duration::from_secs),
        }
    }

    /// `path` as a reader would type it in the root.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root)
            .unwrap_or(path)
            .display()
            .to_string()
            .replace('\\', "/")
    }

    /// `cargo run -q -p lessonNN -- …`, in the root.
    pub fn lesson(&self, number: &str) -> Command {
        let mut command = self.cargo.command();
        command
            .current_dir(&self.root)
            .args(["run", "-q", "-p", &format!("lesson{number}"), "--"]);
        command
    }

    /// Builds a lesson when it has never been built here, with cargo's own progress on stderr: else the next command
    /// that captures its output would seem to hang for minutes. A build that fails is told by that command.
    pub fn build_once(&self, number: &str) {
        let target = std::env::var_os("CARGO_TARGET_DIR");
        let target = target.map_or_else(|| self.root.join("target"), PathBuf::from);
        let package = format!("lesson{number}");
        if target.join("debug").join(&package).exists() {
            return;
        }
        lab::noteln!("building lesson {number} first, which takes some minutes once");
        let mut command = self.cargo.command();
        command.current_dir(&self.root).args(["build", "-p", &package]);
        let _ = command.stdin(Stdio::null()).status();
    }
}

/// A program and the arguments that come before all others.
#[derive(Clone, Debug)]
pub struct Program {
    name: OsString,
    first: Vec<OsString>,
}

impl Program {
    /// A program by name or path.
    pub fn new(name: impl Into<OsString>) -> Self {
        Self {
            name: name.into(),
            first: Vec::new(),
        }
    }

    /// With an argument before all others: `sh script`.
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.first.push(argument.into());
        self
    }

    /// A command to add arguments to.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.name);
        command.args(&self.first);
        command
    }

    /// As typed.
    pub fn shown(&self) -> String {
        let words = std::iter::once(&self.name).chain(&self.first);
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }
}

/// A command as typed, for messages. Arguments with blanks are quoted.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| match word.to_string_lossy() {
        word if word.contains(' ') => format!("\"{word}\""),
        word => word.into_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Runs a command and gives what it printed; `missing` is the error when the program can not be started.
///
/// # Errors
/// `missing`, or the last words of a program that failed.
pub fn output(
    command: &mut Command,
    missing: impl FnOnce(std::io::Error) -> CourseError,
) -> Result<String, CourseError> {
    let ran = command.stdin(Stdio::null()).output().map_err(missing)?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    Err(CourseError::Lesson {
        command: shown(command),
        status: status_text(ran.status),
        said: last_words(&String::from_utf8_lossy(&ran.stderr), 4),
    })
}

/// All files below a folder, in order.
///
/// # Errors
/// When it can not be read.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, CourseError> {
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|error| CourseError::io(folder, "check its permissions")(error.into()))?;
        if entry.file_type().is_file() {
            found.push(entry.into_path());
        }
    }
    Ok(found)
}

/// Bytes of a file, or of all files below a folder; what can not be read counts nothing.
pub fn size_of(path: &Path) -> u64 {
    let entries = walkdir::WalkDir::new(path).into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    files.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

/// An exit status in a word or two.
pub fn status_text(status: std::process::ExitStatus) -> String {
    status
        .code()
        .map_or_else(|| "ended by a signal".to_owned(), |code| code.to_string())
}

/// The last `count` lines of a program's errors, in one line.
pub fn last_words(said: &str, count: usize) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.len() {
        0 => "nothing".to_owned(),
        n => lines[n.saturating_sub(count)..].join(" | "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_one_line() {
        assert_eq!(last_words("a\n\n b\nc\n", 2), "b | c");
        assert_eq!(last_words(" \n", 2), "nothing");
    }

    #[test]
    fn a_shown_command_can_be_typed() {
        let mut command = Program::new("sh").arg("x.sh").command();
        command.args(["-m", "two words"]);
        assert_eq!(shown(&command), "sh x.sh -m \"two words\"");
    }
}
