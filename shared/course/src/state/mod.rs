//! What a learner has done: `work/course.json`.
//!
//! The file is read, changed and replaced whole under a lock, so that `watch` in one terminal and `hint` in another do
//! not undo each other, and an interruption at any point leaves the old file or the new one. The file before the last
//! change stays in `work/backup/course.json`. A file that can not be read is moved to `work/backup/` with the time in
//! its name, the copy takes its place, and the reader is told; a file of a later version of this program is left alone.

mod place;
mod progress;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::CourseError;
use crate::tools::Course;
use place::Place;
pub use progress::{Answer, Progress, Status};

/// The version of the file's form that this program writes.
pub const SCHEMA: u32 = 1;

/// Everything in `work/course.json`. Keys that this program does not know are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Version of this form: [`SCHEMA`].
    pub schema: u32,
    /// Lessons that were started, by number: `05`.
    #[serde(default)]
    pub lessons: BTreeMap<String, Started>,
    /// Exercises that anything has happened to, by id: `05.1`.
    #[serde(default)]
    pub exercises: BTreeMap<String, Progress>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// A lesson that was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Started {
    /// When, as `2026-01-31T12:00:00Z`.
    pub at: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            lessons: BTreeMap::new(),
            exercises: BTreeMap::new(),
            rest: BTreeMap::new(),
        }
    }
}

impl State {
    /// The state as it is, to read. Nothing is a state too: the one before the first exercise.
    ///
    /// # Errors
    /// When the folder can not be used, or the file is of a later version.
    pub fn load(course: &Course) -> Result<Self, CourseError> {
        let place = Place::of(course);
        if !place.file.exists() && !place.backup.exists() {
            return Ok(Self::default());
        }
        let _lock = place.lock()?;
        place.load(course)
    }

    /// Reads the state, changes it and writes it, with no other `cargo course` in between.
    ///
    /// # Errors
    /// When the folder can not be used, or the file is of a later version.
    pub fn update<T>(course: &Course, change: impl FnOnce(&mut Self) -> T) -> Result<T, CourseError> {
        let place = Place::of(course);
        let _lock = place.lock()?;
        let mut state = place.load(course)?;
        let before = state.clone();
        let out = change(&mut state);
        if state != before || !place.file.exists() {
            place.save(&state)?;
        }
        Ok(out)
    }

    /// What happened to `id` so far; the default for one that nothing has happened to.
    pub fn progress(&self, id: &str) -> Progress {
        self.exercises.get(id).cloned().unwrap_or_default()
    }

    /// The entry of `id`, to change.
    pub fn exercise(&mut self, id: &str) -> &mut Progress {
        self.exercises.entry(id.to_owned()).or_default()
    }

    /// Reads a file: another learner's, or a copy. The error says what is wrong with it, in a line.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        parse(&text).map_err(|problem| problem.to_string())
    }
}

fn parse(text: &str) -> Result<State, Unreadable> {
    let damaged = |error: serde_json::Error| Unreadable::Damaged(error.to_string());
    let value: Value = serde_json::from_str(text).map_err(damaged)?;
    let schema = value.get("schema").and_then(Value::as_u64);
    if let Some(schema) = schema.filter(|&schema| schema > u64::from(SCHEMA)) {
        return Err(Unreadable::Later(schema));
    }
    serde_json::from_value(value).map_err(damaged)
}

#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("{0}")]
    Damaged(String),
    #[error("it has schema {0}, this program knows {SCHEMA}")]
    Later(u64),
}

/// `stem` with `end`, or `stem-2`, `stem-3`, … where that exists already.
pub fn free_name(folder: &Path, stem: &str, end: &str) -> PathBuf {
    (1..)
        .map(|n: u32| match n {
            1 => folder.join(format!("{stem}{end}")),
            _ => folder.join(format!("{stem}-{n}{end}")),
        })
        .find(|path| !path.exists())
        .expect("there is always a free number")
}
