//! `cargo course diff NN.k`: the learner's body beside the reference's; `diff NN`: what a lesson takes the place of,
//! old and new.

mod layout;
mod lesson;

use lab::term::Tone;

use crate::error::CourseError;
use crate::exercise::{self, Exercise, Kind};
use crate::lessons;
use crate::page::{self, Page};
use crate::solution::allow;
use crate::source;
use crate::source::marks::{dedented, is_anchor};
use crate::tools::Course;
use crate::twin::Twin;

/// Compares one exercise, after a pass or a give-up (bodies are short, so every line is shown), or a whole lesson.
///
/// # Errors
/// When there is no such exercise, nothing to compare, or it neither passed nor was given up.
pub fn show(course: &Course, asked: &str, give_up: bool, page: &Page) -> Result<String, CourseError> {
    if !asked.contains('.') {
        let number = lessons::find(course, asked)?;
        return lesson::show(course, &number, give_up, page::terminal_columns(), page);
    }
    let exercise = exercise::find(course, asked)?;
    if exercise.kind == Kind::Predict {
        return Err(CourseError::NotNow {
            problem: format!("{} is a question, without code to compare", exercise.literal()),
            action: format!("ask it again with `{}`", exercise.command()),
        });
    }
    allow(course, &exercise, give_up, "diff")?;
    let twin = Twin::open(course, exercise.lesson())?;
    let Some(yours) = source::learner_body(&twin, &exercise)? else {
        return Err(CourseError::NotNow {
            problem: format!("`{}` is not in your file", exercise.function),
            action: format!("get the shipped one back with `cargo course reset {}`", exercise.id),
        });
    };
    let reference = reference(&twin, &exercise)?;
    let mut out = page.paint(Tone::Strong, &page.text(&exercise.literal()));
    let places = [
        (Tone::Bad, "- yours", course.shown(&twin.file(&exercise).learners)),
        (Tone::Good, "+ reference", twin.file(&exercise).tracked_shown.clone()),
    ];
    for (tone, name, place) in places {
        let line = page.columns(&[name], &[13], &place, 15);
        out += &page.paint(tone, &line);
    }
    out += "\n";
    let [yours, reference] = [yours, reference].map(|body| format!("{}\n", body.trim_matches('\n')));
    let all = yours.len() + reference.len();
    Ok(out + &layout::compared(&yours, &reference, all, lab::term::WIDTH, page))
}

/// The whole body of the reference, what is given in front of the mark included, without marks.
fn reference(twin: &Twin, exercise: &Exercise) -> Result<String, CourseError> {
    let path = &twin.file(exercise).tracked;
    let text = source::read(path)?;
    let parsed = source::parse(&text, &twin.shown(path))?;
    let body = parsed
        .function(exercise.function_name())
        .map_or("", |function| &text[function.body.clone()]);
    let is_code = |line: &&str| !is_anchor(line) && !line.trim_start().starts_with("//~");
    let lines: Vec<&str> = body.lines().filter(is_code).collect();
    Ok(dedented(&lines.join("\n")))
}
