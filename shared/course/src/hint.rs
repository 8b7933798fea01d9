//! `cargo course hint NN.k`: one step further, and which step it is.

use lab::term::Tone;

use crate::error::CourseError;
use crate::exercise::{self, Exercise};
use crate::page::Page;
use crate::state::State;
use crate::tools::Course;

/// The next hint; after the last one all of them again. What was shown is noted.
pub fn next(course: &Course, id: &str, page: &Page) -> Result<String, CourseError> {
    let exercise = exercise::find(course, id)?;
    let steps = exercise.hints.len();
    if steps == 0 {
        return Err(CourseError::NotNow {
            problem: format!("{} has no hints", exercise.literal()),
            action: format!("read {}", exercise.built_page()),
        });
    }
    let before = State::update(course, |state| {
        let progress = state.exercise(&exercise.id);
        progress.begin();
        let shown = &mut progress.hints;
        let before = *shown as usize;
        *shown = (before + 1).min(steps) as u32;
        before
    })?;
    Ok(render(&exercise, before, page))
}

fn render(exercise: &Exercise, before: usize, page: &Page) -> String {
    let steps = exercise.hints.len();
    let mut out = String::new();
    let shown = if before < steps { before..before + 1 } else { 0..steps };
    for step in shown {
        let title = format!("{}: hint {} of {steps}", exercise.literal(), step + 1);
        out += &page.paint(Tone::Strong, &page.text(&title));
        out += &page.indented(&exercise.hints[step], 2);
        out += "\n";
    }
    let id = &exercise.id;
    let after = if before + 1 < steps {
        format!("One step further: cargo course hint {id}")
    } else {
        format!("There is no further one. The answer itself: cargo course solution {id} --give-up")
    };
    out + &page.paint(Tone::Dim, &page.text(&after))
}
