//! How far a reader is: counts, words, and what comes next.

use serde::Serialize;

use crate::error::CourseError;
use crate::exercise::Exercise;
use crate::lessons;
use crate::state::{Progress, State, Status};
use crate::tools::Course;
use crate::twin;

/// How many exercises of a lesson are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Passed.
    pub passed: usize,
    /// All of them.
    pub all: usize,
}

impl Counts {
    /// Of these exercises.
    pub fn of<'a>(exercises: impl IntoIterator<Item = &'a Exercise>, state: &State) -> Self {
        let mut counts = Self::default();
        for exercise in exercises {
            counts.all += 1;
            counts.passed += usize::from(state.progress(&exercise.id).status == Status::Passed);
        }
        counts
    }

    /// `2/7`; nothing where there are no exercises.
    pub fn text(self) -> String {
        match self.all {
            0 => String::new(),
            all => format!("{}/{all}", self.passed),
        }
    }
}

/// The word for an exercise's state.
pub fn word(progress: &Progress) -> &'static str {
    match progress.status {
        Status::Passed => "passed",
        _ if progress.skipped => "skipped",
        Status::Failing => "failing",
        Status::Open => "open",
    }
}

/// The first exercise that is neither passed nor skipped: core ones first, in the order of the story.
pub fn next<'a>(exercises: &'a [Exercise], state: &State) -> Option<&'a Exercise> {
    let is_left = |exercise: &&Exercise| {
        let progress = state.progress(&exercise.id);
        progress.status != Status::Passed && !progress.skipped
    };
    let core = exercises.iter().filter(|exercise| exercise.core).find(is_left);
    core.or_else(|| exercises.iter().find(is_left))
}

/// The lesson that was worked on last, for commands without a number.
///
/// # Errors
/// When none was started.
pub fn current_lesson(course: &Course) -> Result<String, CourseError> {
    let state = State::load(course)?;
    let latest = |number: &String| {
        let prefix = format!("{number}.");
        let own = state.exercises.iter().filter(|(id, _)| id.starts_with(&prefix));
        let times = own.filter_map(|(_, progress)| progress.checked_at.as_ref().max(progress.started_at.as_ref()));
        let started = state.lessons.get(number).map(|started| &started.at);
        times.chain(started).max().cloned()
    };
    let known = lessons::folders(course)?;
    known
        .iter()
        .filter_map(|folder| lessons::number_of(folder))
        .filter(|number| twin::folder(course, number).is_dir())
        .max_by_key(latest)
        .ok_or_else(|| CourseError::NotNow {
            problem: "no lesson was started yet".to_owned(),
            action: "start one with `cargo course start 05`".to_owned(),
        })
}
