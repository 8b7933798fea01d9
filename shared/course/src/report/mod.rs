//! `cargo course report DIR…`: how a class stands, from each learner's `work/course.json`. Nothing is written.

mod csv;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::CourseError;
use crate::exercise::{self, Exercise};
use crate::lessons;
use crate::state::{Progress, State, Status};
use crate::tools::Course;

pub use csv::csv;

/// One learner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Learner {
    /// The folder's name, or its path where two have the same name.
    pub learner: String,
    /// As it was given.
    pub folder: String,
    /// What is wrong with the state: then there are no exercises.
    pub problem: Option<String>,
    /// Core exercises that passed, by lesson that was begun: `"05": [3, 5]`.
    pub core: BTreeMap<String, [usize; 2]>,
    /// Every exercise of the workbook, in order, and those that only the state knows.
    pub exercises: Vec<Row>,
}

/// One exercise of one learner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// `05.1`.
    pub id: String,
    /// Its title; empty when this workbook does not have it.
    pub title: String,
    /// write, mend, catch or predict.
    pub kind: &'static str,
    /// Whether every reader should do it.
    pub core: bool,
    /// none, open, failing, passed or skipped.
    pub status: &'static str,
    /// How many different bodies were checked, or answers given.
    pub attempts: u32,
    /// Hints shown.
    pub hints: u32,
    /// Whether the solution was asked for before a pass.
    pub gave_up: bool,
    /// A question's first answer.
    pub first_answer: Option<String>,
    /// Whether it was right.
    pub first_right: Option<bool>,
    /// When the file was made.
    pub started_at: Option<String>,
    /// When it first passed.
    pub passed_at: Option<String>,
}

/// Reads every folder: a learner's repository, or its `work` folder.
///
/// # Errors
/// When this workbook's own lessons can not be read. A learner's missing or damaged state is a row that says so.
pub fn collect(course: &Course, folders: &[PathBuf]) -> Result<Vec<Learner>, CourseError> {
    let exercises = all_exercises(course)?;
    let mut learners: Vec<Learner> = folders.iter().map(|folder| one(folder, &exercises)).collect();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for learner in &learners {
        *seen.entry(learner.learner.clone()).or_default() += 1;
    }
    for learner in &mut learners {
        if seen[&learner.learner] > 1 {
            learner.learner = learner.folder.clone();
        }
    }
    Ok(learners)
}

fn all_exercises(course: &Course) -> Result<Vec<Exercise>, CourseError> {
    let mut found = Vec::new();
    for folder in lessons::folders(course)? {
        if let Some(number) = lessons::number_of(&folder) {
            found.extend(exercise::all(course, &number)?);
        }
    }
    Ok(found)
}

fn one(folder: &Path, exercises: &[Exercise]) -> Learner {
    let mut learner = Learner {
        learner: name(folder),
        folder: folder.display().to_string(),
        problem: None,
        core: BTreeMap::new(),
        exercises: Vec::new(),
    };
    match read(folder) {
        Ok(state) => {
            learner.core = core(&state, exercises);
            learner.exercises = rows(&state, exercises);
        }
        Err(problem) => learner.problem = Some(problem),
    }
    learner
}

/// `anna` of `class/anna` and of `class/anna/work`.
fn name(folder: &Path) -> String {
    let full = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    let is_work = full.file_name().is_some_and(|name| name == "work");
    let named = if is_work { full.parent() } else { Some(full.as_path()) };
    let name = named.and_then(Path::file_name).unwrap_or(folder.as_os_str());
    name.to_string_lossy().into_owned()
}

fn read(folder: &Path) -> Result<State, String> {
    if !folder.is_dir() {
        return Err("there is no such folder".into());
    }
    let places = [folder.join("work/course.json"), folder.join("course.json")];
    let Some(file) = places.iter().find(|file| file.is_file()) else {
        return Err("no work/course.json: nothing was started here".into());
    };
    State::read(file).map_err(|problem| format!("course.json can not be read: {problem}"))
}

fn core(state: &State, exercises: &[Exercise]) -> BTreeMap<String, [usize; 2]> {
    let mut found: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for exercise in exercises.iter().filter(|exercise| exercise.core) {
        let count = found.entry(exercise.lesson().to_owned()).or_default();
        count[0] += usize::from(state.progress(&exercise.id).status == Status::Passed);
        count[1] += 1;
    }
    let begun = |number: &String| {
        let prefix = format!("{number}.");
        state.lessons.contains_key(number) || state.exercises.keys().any(|id| id.starts_with(&prefix))
    };
    found.retain(|number, _| begun(number));
    found
}

fn rows(state: &State, exercises: &[Exercise]) -> Vec<Row> {
    let known = exercises.iter().map(|exercise| {
        let progress = state.exercises.get(&exercise.id);
        row(&exercise.id, Some(exercise), progress)
    });
    let is_known = |id: &String| exercises.iter().any(|exercise| exercise.id == *id);
    let others = state.exercises.iter().filter(|(id, _)| !is_known(id));
    known
        .chain(others.map(|(id, progress)| row(id, None, Some(progress))))
        .collect()
}

fn row(id: &str, exercise: Option<&Exercise>, progress: Option<&Progress>) -> Row {
    let none = Progress::default();
    let at = progress.unwrap_or(&none);
    let option = |index: usize| {
        let text = exercise.and_then(|exercise| exercise.options.get(index).cloned());
        text.unwrap_or_else(|| index.to_string())
    };
    Row {
        id: id.to_owned(),
        title: exercise.map_or_else(String::new, |exercise| exercise.title.clone()),
        kind: exercise.map_or("", |exercise| exercise.kind.word()),
        core: exercise.is_some_and(|exercise| exercise.core),
        status: match at.status {
            _ if progress.is_none() => "none",
            Status::Passed => "passed",
            _ if at.skipped => "skipped",
            Status::Failing => "failing",
            Status::Open => "open",
        },
        attempts: at.attempts,
        hints: at.hints,
        gave_up: at.gave_up,
        first_answer: at.answer.as_ref().map(|answer| option(answer.first)),
        first_right: at.answer.as_ref().map(|answer| answer.first_right),
        started_at: at.started_at.clone(),
        passed_at: at.passed_at.clone(),
    }
}
