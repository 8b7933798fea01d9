//! What lessons have recorded or left behind: documents (JSON) and charts (SVG).

use std::path::{Path, PathBuf};

use lab::record::Document;

use crate::error::CourseError;
use crate::lessons;
use crate::tools::Course;

/// Where results come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `lessons/NN-name/results`, tracked.
    Recorded,
    /// `target/course/lessonNN`, from the last plain run here.
    Latest,
}

impl Origin {
    /// The word that outputs use.
    pub fn word(self) -> &'static str {
        match self {
            Origin::Recorded => "recorded",
            Origin::Latest => "latest",
        }
    }

    /// The folder of a lesson, which need not exist.
    pub fn folder(self, course: &Course, lesson: &Path) -> PathBuf {
        match self {
            Origin::Recorded => lesson.join("results"),
            Origin::Latest => {
                let number = lessons::number_of(lesson).unwrap_or_default();
                course.root.join("target/course").join(format!("lesson{number}"))
            }
        }
    }
}

/// The documents of one lesson. Other JSON files beside them (a chart's data) are not documents and are left alone.
///
/// # Errors
/// When a file that should be a document is not one.
pub fn documents(course: &Course, lesson: &Path, origin: Origin) -> Result<Vec<Document>, CourseError> {
    let number = lessons::number_of(lesson).unwrap_or_default();
    let mut found = Vec::new();
    for path in files(&origin.folder(course, lesson), "json")? {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !stem.starts_with(&format!("lesson{number}")) {
            continue;
        }
        let wrong = |problem: String| CourseError::Json {
            path: course.shown(&path),
            problem,
            action: match origin {
                Origin::Recorded => {
                    format!("record it again with `cargo run -p lesson{number} -- --no-pause --record`")
                }
                Origin::Latest => {
                    format!("make it again with `cargo run -p lesson{number} -- --no-pause`")
                }
            },
        };
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        let document: Document = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if document.schema != 1 {
            return Err(wrong(format!("expected schema 1, found {}", document.schema)));
        }
        found.push(document);
    }
    Ok(found)
}

/// The charts of one lesson.
///
/// # Errors
/// When its folder can not be read.
pub fn charts(course: &Course, lesson: &Path, origin: Origin) -> Result<Vec<PathBuf>, CourseError> {
    files(&origin.folder(course, lesson), "svg")
}

/// Files with this extension, sorted; none when there is no such folder.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, CourseError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable = |error| CourseError::io(folder, "check its permissions")(error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_file() && path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
