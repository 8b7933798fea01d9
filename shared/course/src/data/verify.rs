//! Checksums, by lesson 04's binary: checking is what it teaches.

use std::path::Path;

use serde::Deserialize;

use crate::error::CourseError;
use crate::tools::{Course, last_words, shown, status_text};

/// What `lesson04 verify --json` prints.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    /// One entry per file of the manifest.
    pub files: Vec<Checked>,
}

/// A file and what was found.
#[derive(Clone, Debug, Deserialize)]
pub struct Checked {
    /// As in the manifest.
    pub path: String,
    /// Whether size and checksum are right.
    pub ok: bool,
    /// What is wrong.
    #[serde(default)]
    pub problem: Option<String>,
}

/// Checks every file of the manifest.
///
/// # Errors
/// When lesson 04 can not be run or prints something else.
pub fn manifest(course: &Course) -> Result<Report, CourseError> {
    let mut command = course.lesson("04");
    command.args(["verify", "--json"]);
    let output = command.output().map_err(|error| no_cargo(course, error))?;
    // Its status says whether files are right; a document says that it ran.
    serde_json::from_slice(&output.stdout).map_err(|_| CourseError::Lesson {
        command: shown(&command),
        status: status_text(output.status),
        said: last_words(&String::from_utf8_lossy(&output.stderr), 3),
    })
}

/// Whether `file` has this sha256.
///
/// # Errors
/// When lesson 04 can not be run.
pub fn has_sha256(course: &Course, file: &Path, sha256: &str) -> Result<bool, CourseError> {
    let mut command = course.lesson("04");
    command.arg("verify").arg(file).args(["--sha256", sha256]);
    let output = command.output().map_err(|error| no_cargo(course, error))?;
    match output.status.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => Err(CourseError::Lesson {
            command: shown(&command),
            status: status_text(output.status),
            said: last_words(&String::from_utf8_lossy(&output.stderr), 3),
        }),
    }
}

pub(crate) fn no_cargo(course: &Course, _: std::io::Error) -> CourseError {
    CourseError::NoProgram {
        program: course.cargo.shown(),
        need: "it builds and runs the lessons",
        action: "install Rust as https://rustup.rs says, or set CARGO to its path",
    }
}
