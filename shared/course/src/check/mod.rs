//! `cargo course check`: the lesson's tests against the learner's code, exercise by exercise.

pub mod render;
mod report;

use crate::error::CourseError;
use crate::tools::Course;

pub use report::{Checked, Cost, Diagnostic, Failure, Report, Status};

/// What to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// `05`.
    pub lesson: String,
    /// Ids, `05.1`; empty for the whole lesson.
    pub ids: Vec<String>,
}

/// Checks the learner's work and notes the outcome in the state.
///
/// # Errors
/// When the lesson was not started, or its twin can not be built for a reason that is not the learner's.
pub fn check(_course: &Course, selection: &Selection) -> Result<Report, CourseError> {
    Err(CourseError::NotStarted {
        lesson: selection.lesson.clone(),
    })
}
