//! `cargo course diff NN`: what a lesson takes the place of, old and new.

use std::path::Path;

use lab::term::Tone;

use super::items;
use super::layout::changed;
use super::superseded::{self, Side};
use crate::error::CourseError;
use crate::exercise::Exercise;
use crate::page::Page;
use crate::source;
use crate::state::State;
use crate::tools::Course;
use crate::twin::Twin;

/// Compares each part of an earlier lesson with what takes its place here, as code alone. The bodies of exercises are left out until
/// they passed or were given up; `give_up` gives up those of what is shown, and notes it.
///
/// # Errors
/// When the lesson supersedes nothing, or names something that is not there.
pub fn show(course: &Course, number: &str, give_up: bool, columns: usize, page: &Page) -> Result<String, CourseError> {
    let pairs = superseded::of(course, number)?;
    if pairs.is_empty() {
        return Err(CourseError::NotNow {
            problem: format!(
                "lesson {number} replaces no part of an earlier lesson, so there is nothing to compare as a whole"
            ),
            action: format!("compare one exercise with its reference: `cargo course diff {number}.1`"),
        });
    }
    let mut out = String::new();
    let mut hidden = Vec::new();
    for pair in &pairs {
        let [old, new] = [&pair.old, &pair.new].map(|side| code(course, side, give_up, &mut hidden));
        let (old, new) = (old?, new?);
        if !out.is_empty() {
            out += "\n";
        }
        for (tone, mark, side) in [(Tone::Bad, "-", &pair.old), (Tone::Good, "+", &pair.new)] {
            let place = course.shown(&side.file);
            let text = format!("{}\n{place}", side.path);
            out += &page.paint(tone, &page.columns(&[mark], &[1], &text, 3));
        }
        out += "\n";
        out += &changed(&old, &new, columns, page);
    }
    if !hidden.is_empty() {
        hidden.sort();
        hidden.dedup();
        out += "\n";
        out += &page.text(&format!(
            "Left out, because they have not passed yet: the bodies of {}. With --give-up they are shown, and that is noted.",
            hidden.join(", ")
        ));
    }
    Ok(out)
}

/// The code of one side. The ids of the exercises whose bodies are left out are added to `hidden`.
fn code(course: &Course, side: &Side, give_up: bool, hidden: &mut Vec<String>) -> Result<String, CourseError> {
    let twin = Twin::for_verify(course, &side.lesson)?;
    let mut text = source::read(&side.file)?;
    let here: Vec<&Exercise> = twin
        .coded()
        .filter(|exercise| is_here(&twin, exercise, &side.file, &text, &side.item))
        .collect();
    if give_up && !here.is_empty() {
        State::update(course, |state| {
            for exercise in &here {
                let progress = state.exercise(&exercise.id);
                progress.gave_up |= progress.passed_at.is_none();
            }
        })?;
    }
    let state = State::load(course)?;
    let secret: Vec<&Exercise> = here
        .into_iter()
        .filter(|exercise| !state.progress(&exercise.id).may_see_solution())
        .collect();
    hidden.extend(secret.iter().map(|exercise| exercise.id.clone()));
    if !secret.is_empty() {
        text = source::without_bodies(&text, &secret, &course.shown(&side.file))?;
    }
    Ok(match side.item.is_empty() {
        true => items::whole(&text),
        false => items::find(&text, &side.item).unwrap_or_default(),
    })
}

/// Whether the body of an exercise is among what is shown.
fn is_here(twin: &Twin, exercise: &Exercise, file: &Path, text: &str, item: &[String]) -> bool {
    let is_file = twin.file(exercise).tracked == file;
    let is_item = item.is_empty() || *item == [exercise.function_name()];
    is_file && is_item && source::marks::find(text, exercise, "").is_ok()
}
