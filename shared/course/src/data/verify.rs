//! Checksums, by lesson 04's binary: checking is what it teaches.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde::de::DeserializeOwned;

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
    /// As in the manifest: relative to `data/`.
    pub path: String,
    /// Whether size and checksum are right.
    pub ok: bool,
    /// What is wrong.
    #[serde(default, alias = "error")]
    pub problem: Option<String>,
}

/// Checks every file of the manifest.
///
/// # Errors
/// When lesson 04 can not be run or prints something else.
pub fn manifest(course: &Course) -> Result<Report, CourseError> {
    let mut command = course.lesson("04");
    command.args(["verify", "--json"]);
    document(course, &mut command)
}

/// What `lesson04 verify FILE --sha256 HEX --json` prints.
#[derive(Deserialize)]
struct FileReport {
    ok: bool,
}

/// Whether `file` has this sha256.
///
/// # Errors
/// When lesson 04 can not be run or prints something else.
pub fn has_sha256(course: &Course, file: &Path, sha256: &str) -> Result<bool, CourseError> {
    let mut command = course.lesson("04");
    command.arg("verify").arg(file).args(["--sha256", sha256, "--json"]);
    let report: FileReport = document(course, &mut command)?;
    Ok(report.ok)
}

/// Runs a command of lesson 04 and reads the document that it prints. Its status says whether files are right, and so
/// does the document: that there is one says that the lesson was built and ran.
fn document<T: DeserializeOwned>(course: &Course, command: &mut Command) -> Result<T, CourseError> {
    course.build_once("04");
    let output = command.output().map_err(|error| no_cargo(course, error))?;
    serde_json::from_slice(&output.stdout).map_err(|_| CourseError::Lesson {
        command: shown(command),
        status: status_text(output.status),
        said: last_words(&String::from_utf8_lossy(&output.stderr), 3),
    })
}

pub(crate) fn no_cargo(course: &Course, _: std::io::Error) -> CourseError {
    CourseError::NoProgram {
        program: course.cargo.shown(),
        need: "it builds and runs the lessons",
        action: "install Rust with rustup",
    }
}
