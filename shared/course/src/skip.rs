//! `cargo course skip NN.k`: leave an exercise out, for now or for good.

use crate::error::CourseError;
use crate::exercise;
use crate::page::Page;
use crate::state::State;
use crate::tools::Course;

/// Marks an exercise as left out, or with `undo` as wanted again.
pub fn skip(course: &Course, id: &str, undo: bool, page: &Page) -> Result<String, CourseError> {
    let exercise = exercise::find(course, id)?;
    State::update(course, |state| {
        state.exercise(&exercise.id).skipped = !undo;
    })?;
    let (id, title) = (&exercise.id, exercise.literal());
    let text = if undo {
        format!("{title} is wanted again: {}", exercise.command())
    } else {
        let code = if exercise.has_code() {
            " The lesson runs with its own body there, as long as yours is not written."
        } else {
            ""
        };
        format!("{title} is skipped.{code} Take it up again: cargo course skip {id} --undo")
    };
    Ok(page.text(&text))
}
