//! `cargo course run NN …`: a lesson's binary.

use std::process::ExitStatus;

use crate::data::verify::no_cargo;
use crate::error::CourseError;
use crate::lessons;
use crate::tools::Course;

/// Runs the lesson with the reader's terminal and arguments.
///
/// # Errors
/// When there is no such lesson or no cargo.
pub fn run(
    course: &Course,
    asked: &str,
    _reference: bool,
    arguments: &[String],
) -> Result<ExitStatus, CourseError> {
    let number = lessons::find(course, asked)?;
    course
        .lesson(&number)
        .args(arguments)
        .status()
        .map_err(|error| no_cargo(course, error))
}
