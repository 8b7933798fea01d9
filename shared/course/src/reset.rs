//! `cargo course reset NN[.k]`: begin again, with what was there kept as a copy.

use std::fs;
use std::path::{Path, PathBuf};

use crate::clock;
use crate::error::CourseError;
use crate::exercise::{self, Exercise};
use crate::lessons;
use crate::page::Page;
use crate::source;
use crate::state::{State, free_name};
use crate::tools::Course;
use crate::twin::Twin;

const WRITABLE: &str = "the learner's folder must be writable and the disk not full";

/// Puts a lesson or one exercise back to how it ships, after a copy, and says where the copy is.
pub fn reset(course: &Course, asked: &str, page: &Page) -> Result<String, CourseError> {
    if asked.contains('.') {
        return reset_one(course, &exercise::find(course, asked)?, page);
    }
    let number = lessons::find(course, asked)?;
    let twin = Twin::open(course, &number)?;
    let files: Vec<PathBuf> = twin.files.iter().map(|file| file.learners.clone()).collect();
    let backup = keep(course, &twin, &format!("lesson{number}"), &files)?;
    // From here on the copy is whole: whatever interrupts this, `start` makes what is missing.
    for file in files.iter().filter(|file| file.exists()) {
        fs::remove_file(file).map_err(CourseError::io(file, WRITABLE))?;
    }
    let exercises: Vec<&Exercise> = twin.exercises.iter().collect();
    forget(course, &exercises)?;
    Twin::start(course, &number)?;
    let text = format!(
        "Lesson {number} is as it ships. Your files are kept in {}",
        course.shown(&backup)
    );
    Ok(page.text(&text) + &page.text(&format!("Begin: cargo course check {number}")))
}

fn reset_one(course: &Course, exercise: &Exercise, page: &Page) -> Result<String, CourseError> {
    if !exercise.has_code() {
        forget(course, &[exercise])?;
        let text = format!("{} is open again: {}", exercise.literal(), exercise.command());
        return Ok(page.text(&text));
    }
    let twin = Twin::open(course, exercise.lesson())?;
    let ours = twin.file(exercise);
    let file = &ours.learners;
    let backup = keep(course, &twin, &exercise.id, std::slice::from_ref(file))?;
    if file.exists() {
        let learner = source::read_exactly(file)?;
        let shipped = ours.shipped()?;
        let shown = course.shown(file);
        let text =
            source::reset_function(&learner, &shipped, exercise, &shown).map_err(|error| CourseError::NotNow {
                problem: error.to_string(),
                action: format!(
                    "mend the line, or begin the whole lesson again with `cargo course reset {}`",
                    exercise.lesson()
                ),
            })?;
        lab::record::replace_file(file, text.as_bytes()).map_err(CourseError::io(file, WRITABLE))?;
    }
    forget(course, &[exercise])?;
    Twin::start(course, exercise.lesson())?;
    let text = format!(
        "{} in {} is as it ships; the rest of the file was not touched. Yours is kept in {}",
        exercise.literal(),
        course.shown(file),
        course.shown(&backup)
    );
    Ok(page.text(&text) + &page.text(&format!("Begin: {}", exercise.command())))
}

/// Copies files, and the state as it is, to a new folder below `work/backup`.
fn keep(course: &Course, twin: &Twin, what: &str, files: &[PathBuf]) -> Result<PathBuf, CourseError> {
    let all = course.root.join("work/backup");
    fs::create_dir_all(&all).map_err(CourseError::io(&all, WRITABLE))?;
    let backup = free_name(&all, &format!("{}-{what}", clock::stamp()), "");
    for file in files.iter().filter(|file| file.exists()) {
        let inside = file.strip_prefix(&twin.folder).unwrap_or(Path::new("file.rs"));
        copy(file, &backup.join(inside))?;
    }
    let state = course.root.join("work/course.json");
    if state.exists() {
        copy(&state, &backup.join("course.json"))?;
    }
    Ok(backup)
}

fn copy(from: &Path, to: &Path) -> Result<(), CourseError> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder)
        .and_then(|()| fs::copy(from, to))
        .map_err(CourseError::io(to, WRITABLE))?;
    Ok(())
}

/// Opens exercises again. What a teacher counts stays: attempts, and that the solution was asked for.
fn forget(course: &Course, exercises: &[&Exercise]) -> Result<(), CourseError> {
    State::update(course, |state| {
        for exercise in exercises {
            if let Some(progress) = state.exercises.get_mut(&exercise.id) {
                progress.reopen();
            }
        }
    })
}
