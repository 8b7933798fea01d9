//! `cargo course solution NN.k`: the reference's body, after a pass or when the reader gives up.

use lab::term::Tone;

use crate::error::CourseError;
use crate::exercise::{self, Exercise, Kind};
use crate::page::Page;
use crate::source::marks;
use crate::state::State;
use crate::tools::Course;
use crate::twin::Twin;

/// Shows the solution. `give_up` is noted in the state, unless it passed already.
pub fn show(course: &Course, id: &str, give_up: bool, page: &Page) -> Result<String, CourseError> {
    let exercise = exercise::find(course, id)?;
    allow(course, &exercise, give_up, "solution")?;
    if exercise.kind == Kind::Predict {
        return Ok(answer(&exercise, page));
    }
    let twin = Twin::open(course, exercise.lesson())?;
    let file = twin.file(&exercise);
    let body = marks::dedented(&file.marked(&exercise)?.right);
    let place = &file.tracked_shown;
    let mut out = page.paint(Tone::Strong, &page.text(&exercise.literal()));
    out += &page.paint(
        Tone::Dim,
        &page.text(&format!("The body of {} in {place}", exercise.function)),
    );
    out += "\n";
    // As it stands in the file, for copying: never wrapped.
    for line in body.trim_end().lines() {
        out += format!("    {line}").trim_end();
        out += "\n";
    }
    out += "\n";
    Ok(out + &page.text(&format!("Why it is so: {}", exercise.built_page())))
}

/// Lets `command` go on after a pass or a give-up, and notes the latter.
///
/// # Errors
/// When it may not.
pub fn allow(course: &Course, exercise: &Exercise, give_up: bool, command: &str) -> Result<(), CourseError> {
    let may = State::update(course, |state| {
        let progress = state.exercise(&exercise.id);
        if give_up && progress.passed_at.is_none() {
            progress.begin();
            progress.gave_up = true;
        }
        progress.may_see_solution()
    })?;
    if may {
        return Ok(());
    }
    let id = &exercise.id;
    let hint = if exercise.hints.is_empty() {
        String::new()
    } else {
        format!("a step towards it: `cargo course hint {id}`; ")
    };
    Err(CourseError::NotNow {
        problem: format!("{} has not passed yet", exercise.literal()),
        action: format!(
            "{hint}to see the answer all the same (which is noted): `cargo course {command} {id} --give-up`"
        ),
    })
}

fn answer(exercise: &Exercise, page: &Page) -> String {
    let mut out = crate::predict::question(exercise, page);
    let right = exercise.right_option();
    out += "\n";
    out += &page.paint(Tone::Good, &page.text(&format!("The answer: {right}")));
    if !exercise.because.is_empty() {
        out += &page.indented(&exercise.because, 2);
    }
    out
}
