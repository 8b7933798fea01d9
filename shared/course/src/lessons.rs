//! The lessons, from their `course.toml`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::CourseError;
use crate::tools::Course;

/// One lesson's `course.toml`. Keys that this program does not know are left alone.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Lesson {
    /// Two digits: `05`.
    #[serde(skip_deserializing)]
    pub number: String,
    /// The folder's name: `05-generation`.
    #[serde(skip_deserializing)]
    pub folder: String,
    /// Name of the library.
    #[serde(default)]
    pub lib: String,
    /// Title.
    pub title: String,
    /// The question that the lesson answers; may be empty.
    #[serde(default)]
    pub question: String,
    /// Which of the five layers it belongs to.
    #[serde(default)]
    pub layer: String,
    /// Minutes by kind.
    #[serde(default)]
    pub minutes: Minutes,
    /// Ids of the claims that it measures.
    #[serde(default)]
    pub claims: Vec<String>,
    /// The number as the file gives it: `5`, `"5"` or `"05"`.
    #[serde(default, rename = "lesson", skip_serializing)]
    stated: Option<toml::Value>,
}

/// Minutes that a reader should set aside.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct Minutes {
    /// Reading.
    pub read: u32,
    /// Running the binary.
    pub run: u32,
    /// The exercises that every reader should do.
    pub core: u32,
    /// The others.
    pub extra: u32,
}

impl Minutes {
    /// Without the extra exercises.
    pub fn main_part(self) -> u32 {
        self.read + self.run + self.core
    }
}

/// All lessons, in order; a lesson whose file is missing or wrong stands in the list as its error.
///
/// # Errors
/// When the folder of lessons can not be read.
pub fn all(course: &Course) -> Result<Vec<Result<Lesson, CourseError>>, CourseError> {
    Ok(folders(course)?.iter().map(|folder| read(course, folder)).collect())
}

/// The lessons' folders, in order.
///
/// # Errors
/// When `lessons/` can not be read.
pub fn folders(course: &Course) -> Result<Vec<PathBuf>, CourseError> {
    let lessons = course.root.join("lessons");
    let unreadable = |error| CourseError::io(&lessons, "run this inside the workbook's folder")(error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&lessons).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if number_of(&path).is_some() && path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// `05` of `lessons/05-generation`.
pub fn number_of(folder: &Path) -> Option<String> {
    let (number, _) = folder.file_name()?.to_str()?.split_once('-')?;
    (number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit())).then(|| number.to_owned())
}

/// The two-digit number of the lesson that was asked for as `5`, `05` or `lesson05`.
///
/// # Errors
/// When there is no such lesson.
pub fn find(course: &Course, asked: &str) -> Result<String, CourseError> {
    let digits = asked.strip_prefix("lesson").unwrap_or(asked);
    let number = format!("{digits:0>2}");
    folder_of(course, &number, asked).map(|_| number)
}

/// One lesson, by its two digits.
///
/// # Errors
/// When there is no such lesson or its `course.toml` is wrong.
pub fn one(course: &Course, number: &str) -> Result<Lesson, CourseError> {
    read(course, &folder(course, number)?)
}

/// The folder of a lesson, by its two digits.
///
/// # Errors
/// When there is no such lesson.
pub fn folder(course: &Course, number: &str) -> Result<PathBuf, CourseError> {
    folder_of(course, number, number)
}

fn folder_of(course: &Course, number: &str, asked: &str) -> Result<PathBuf, CourseError> {
    let known = folders(course)?;
    let found = known.iter().find(|path| number_of(path).as_deref() == Some(number));
    found.cloned().ok_or_else(|| CourseError::NoLesson {
        asked: asked.to_owned(),
        known: known
            .iter()
            .filter_map(|path| number_of(path))
            .collect::<Vec<_>>()
            .join(", "),
    })
}

/// `05-generation` of `lessons/05-generation`: also the name of the book's chapter.
pub fn number_and_name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn read(course: &Course, folder: &Path) -> Result<Lesson, CourseError> {
    let path = folder.join("course.toml");
    let shown = course.shown(&path);
    let text = std::fs::read_to_string(&path).map_err(|source| CourseError::Io {
        path: shown.clone(),
        source,
        action: "each lesson has a course.toml with title, minutes, layer and claims",
    })?;
    let wrong = |problem: String| CourseError::CourseToml {
        path: shown.clone(),
        problem,
    };
    let mut lesson: Lesson = toml::from_str(&text).map_err(|error| wrong(describe(&error, &text)))?;
    lesson.number = number_of(folder).unwrap_or_default();
    lesson.folder = number_and_name(folder);
    if let Some(stated) = &lesson.stated {
        let stated = format!(
            "{:0>2}",
            stated.as_str().map_or_else(|| stated.to_string(), str::to_owned)
        );
        if stated != lesson.number {
            let number = &lesson.number;
            return Err(wrong(format!("it says lesson {stated}, its folder says {number}")));
        }
    }
    Ok(lesson)
}

/// The parser's message in one line, with the line's number.
pub(crate) fn describe(error: &toml::de::Error, text: &str) -> String {
    let line = error
        .span()
        .map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let message = error.message().replace('\n', ", ");
    line.map_or_else(|| message.clone(), |line| format!("line {line}: {message}"))
}
