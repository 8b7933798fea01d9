//! `cargo course report DIR…`: how a class stands, from each learner's `work/course.json`. Nothing is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::CourseError;
use crate::exercise::{self, Exercise};
use crate::lessons;
use crate::state::{Progress, State, Status};
use crate::tools::Course;

/// One learner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Learner {
    /// The folder's name, or its path where two have the same name.
    pub learner: String,
    /// As it was given.
    pub folder: String,
    /// What is wrong with the state: then there are no exercises.
    pub problem: Option<String>,
    /// What was done in each lesson that was begun: `"05"`.
    pub lessons: BTreeMap<String, Counts>,
    /// Every exercise of the workbook (or of the lesson that was asked for), in order, and those that only the state
    /// knows.
    pub exercises: Vec<Row>,
}

/// What a learner did in one lesson.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Core exercises that passed.
    pub core_passed: u32,
    /// Core exercises.
    pub core: u32,
    /// Extra exercises that passed.
    pub extra_passed: u32,
    /// Extra exercises.
    pub extra: u32,
    /// Different bodies that were checked, and answers given.
    pub attempts: u32,
    /// Hints shown.
    pub hints: u32,
    /// Exercises whose solution was asked for before a pass.
    pub gave_up: u32,
    /// Questions that were answered wrongly at first.
    pub first_wrong: u32,
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
    /// When it was begun.
    pub started_at: Option<String>,
    /// When it first passed.
    pub passed_at: Option<String>,
}

/// Reads every folder: a learner's repository, or its `work` folder. With a lesson's number only its exercises are
/// told.
///
/// # Errors
/// When this workbook's own lessons can not be read. A learner's missing or damaged state is a row that says so.
pub fn collect(course: &Course, folders: &[PathBuf], lesson: Option<&str>) -> Result<Vec<Learner>, CourseError> {
    let mut exercises = Vec::new();
    for folder in lessons::folders(course)? {
        let number = lessons::number_of(&folder).unwrap_or_default();
        if lesson.is_none_or(|asked| asked == number) {
            exercises.extend(exercise::all(course, &number)?);
        }
    }
    let mut learners: Vec<Learner> = folders.iter().map(|folder| one(folder, &exercises, lesson)).collect();
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

fn one(folder: &Path, exercises: &[Exercise], lesson: Option<&str>) -> Learner {
    let (rows, problem) = match read(folder) {
        Ok(state) => (rows(&state, exercises, lesson), None),
        Err(problem) => (Vec::new(), Some(problem)),
    };
    Learner {
        learner: name(folder),
        folder: folder.display().to_string(),
        problem,
        lessons: counts(&rows),
        exercises: rows,
    }
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

fn rows(state: &State, exercises: &[Exercise], lesson: Option<&str>) -> Vec<Row> {
    let known = exercises
        .iter()
        .map(|exercise| row(&exercise.id, Some(exercise), state));
    let is_other = |id: &&String| {
        lesson.is_none_or(|asked| id.starts_with(&format!("{asked}.")))
            && exercises.iter().all(|exercise| exercise.id != **id)
    };
    let others = state.exercises.keys().filter(is_other);
    known.chain(others.map(|id| row(id, None, state))).collect()
}

fn row(id: &str, exercise: Option<&Exercise>, state: &State) -> Row {
    let none = Progress::default();
    let progress = state.exercises.get(id);
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

/// The sums of each lesson of which the state knows an exercise.
fn counts(rows: &[Row]) -> BTreeMap<String, Counts> {
    let mut found: BTreeMap<String, Counts> = BTreeMap::new();
    let lesson = |row: &Row| row.id.split('.').next().unwrap_or_default().to_owned();
    for row in rows {
        let counts = found.entry(lesson(row)).or_default();
        let (passed, all) = match row.core {
            true => (&mut counts.core_passed, &mut counts.core),
            false => (&mut counts.extra_passed, &mut counts.extra),
        };
        *passed += u32::from(row.status == "passed");
        *all += 1;
        counts.attempts += row.attempts;
        counts.hints += row.hints;
        counts.gave_up += u32::from(row.gave_up);
        counts.first_wrong += u32::from(row.first_right == Some(false));
    }
    found.retain(|number, _| rows.iter().any(|row| lesson(row) == *number && row.status != "none"));
    found
}

/// A table for a spreadsheet, with its header: a line for each learner and exercise, or with `sums` for each learner
/// and lesson. A learner whose state is missing or damaged has one line, with only the problem.
pub fn csv(learners: &[Learner], sums: bool) -> String {
    const EXERCISES: &str = "learner id title kind core status attempts hints gave_up first_answer first_right started_at passed_at problem";
    const SUMS: &str = "learner lesson core_passed core extra_passed extra attempts hints gave_up first_wrong problem";
    let header = if sums { SUMS } else { EXERCISES };
    let mut out = header.replace(' ', ",") + "\n";
    let width = header.split(' ').count();
    for learner in learners {
        let mut line = |mut cells: Vec<String>| {
            cells.insert(0, learner.learner.clone());
            cells.resize(width, String::new());
            if let Some(problem) = &learner.problem {
                cells[width - 1].clone_from(problem);
            }
            out += &cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",");
            out += "\n";
        };
        if learner.problem.is_some() {
            line(Vec::new());
        }
        if sums {
            learner
                .lessons
                .iter()
                .for_each(|(lesson, counts)| line(counts.cells(lesson)));
        } else {
            learner.exercises.iter().for_each(|row| line(row.cells()));
        }
    }
    out
}

impl Counts {
    fn cells(&self, lesson: &str) -> Vec<String> {
        let numbers = [
            self.core_passed,
            self.core,
            self.extra_passed,
            self.extra,
            self.attempts,
            self.hints,
            self.gave_up,
            self.first_wrong,
        ];
        let numbers = numbers.iter().map(ToString::to_string);
        std::iter::once(lesson.to_owned()).chain(numbers).collect()
    }
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let word = |value: bool| if value { "yes" } else { "no" }.to_owned();
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        vec![
            self.id.clone(),
            self.title.clone(),
            self.kind.to_owned(),
            word(self.core),
            self.status.to_owned(),
            self.attempts.to_string(),
            self.hints.to_string(),
            word(self.gave_up),
            text(&self.first_answer),
            self.first_right.map(word).unwrap_or_default(),
            text(&self.started_at),
            text(&self.passed_at),
        ]
    }
}

/// A cell with commas, quotes or line ends stands in quotes. One that a spreadsheet would take for a formula gets an
/// apostrophe: the text may come from other people's folders. By hand, because the `csv` crate would change the
/// features of serde for every lesson.
fn quoted(cell: &str) -> String {
    let guard = if cell.starts_with(['=', '+', '-', '@']) {
        "'"
    } else {
        ""
    };
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{guard}{}\"", cell.replace('"', "\"\"")),
        false => format!("{guard}{cell}"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn cells_are_quoted_where_a_spreadsheet_would_stumble() {
        for (cell, expected) in [
            ("plain", "plain"),
            ("a, b", "\"a, b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=1+1", "'=1+1"),
            ("", ""),
        ] {
            assert_eq!(super::quoted(cell), expected);
        }
    }
}
