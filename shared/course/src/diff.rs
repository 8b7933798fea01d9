//! `cargo course diff NN.k`: the learner's body beside the reference's.

use lab::term::{self, Tone};
use similar::{ChangeTag, TextDiff};

use crate::error::CourseError;
use crate::exercise::{self, Exercise, Kind};
use crate::lessons;
use crate::page::{Page, hard};
use crate::solution::allow;
use crate::source;
use crate::source::marks::{dedented, is_anchor};
use crate::tools::Course;
use crate::twin::Twin;

/// Compares, after a pass or a give-up. Bodies are short, so every line is shown.
///
/// # Errors
/// When there is no such exercise, nothing to compare, or it neither passed nor was given up.
pub fn show(
    course: &Course,
    asked: &str,
    give_up: bool,
    page: &Page,
) -> Result<String, CourseError> {
    if !asked.contains('.') {
        return Err(whole_lesson(&lessons::find(course, asked)?));
    }
    let exercise = exercise::find(course, asked)?;
    if exercise.kind == Kind::Predict {
        return Err(CourseError::NotNow {
            problem: format!(
                "{} is a question, without code to compare",
                exercise.literal()
            ),
            action: format!("ask it again with `{}`", exercise.command()),
        });
    }
    allow(course, &exercise, give_up, "diff")?;
    let twin = Twin::open(course, exercise.lesson())?;
    let Some(yours) = source::learner_body(&twin, &exercise)? else {
        return Err(CourseError::NotNow {
            problem: format!("`{}` is not in your file", exercise.function),
            action: format!(
                "get the shipped one back with `cargo course reset {}`",
                exercise.id
            ),
        });
    };
    let reference = reference(&twin, &exercise)?;
    let mut out = page.paint(Tone::Strong, &page.text(&exercise.literal()));
    let places = [
        (
            Tone::Bad,
            "- yours",
            course.shown(&twin.file_of(&exercise)?),
        ),
        (
            Tone::Good,
            "+ reference",
            course.shown(&twin.tracked_file_of(&exercise)?),
        ),
    ];
    for (tone, name, place) in places {
        let line = page.columns(&[name], &[13], &place, 15);
        out += &page.paint(tone, &line);
    }
    out += "\n";
    let (yours, reference) = (yours.trim_matches('\n'), reference.trim_matches('\n'));
    Ok(out + &compared(yours, reference, page))
}

/// The whole body of the reference, what is given in front of the mark included, without marks.
fn reference(twin: &Twin, exercise: &Exercise) -> Result<String, CourseError> {
    let path = twin.tracked_file_of(exercise)?;
    let text = source::read(&path)?;
    let parsed = source::parse(&text, &twin.shown(&path))?;
    let body = parsed
        .function(exercise.function_name())
        .map_or("", |function| &text[function.body.clone()]);
    let is_code = |line: &&str| !is_anchor(line) && !line.trim_start().starts_with("//~");
    let lines: Vec<&str> = body.lines().filter(is_code).collect();
    Ok(dedented(&lines.join("\n")))
}

/// Both texts, line by line.
fn compared(yours: &str, reference: &str, page: &Page) -> String {
    if yours == reference {
        return page.text("They are the same, line for line.");
    }
    let mut out = String::new();
    let (yours, reference) = (format!("{yours}\n"), format!("{reference}\n"));
    for change in TextDiff::from_lines(&yours, &reference).iter_all_changes() {
        let (mark, tone) = match change.tag() {
            ChangeTag::Delete => ("- ", Tone::Bad),
            ChangeTag::Insert => ("+ ", Tone::Good),
            ChangeTag::Equal => ("  ", Tone::Plain),
        };
        let line = change.value().trim_end();
        out += &page.paint(tone, &hard(line, term::width(mark), mark));
    }
    out
}

/// Lessons that take the place of a part of an earlier one are compared as a whole; none of those that exist does.
fn whole_lesson(number: &str) -> CourseError {
    CourseError::NotNow {
        problem: format!(
            "lesson {number} replaces no part of an earlier lesson, so there is nothing to compare as a whole"
        ),
        action: format!("compare one exercise with its reference: `cargo course diff {number}.1`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_stand_below_each_other_within_80_columns() {
        let long = "x".repeat(100);
        let text = compared(
            &format!("a\nb\n{long}"),
            &format!("a\nc\n{long}"),
            &Page::plain(),
        );
        assert!(text.starts_with("  a\n- b\n+ c\n  xxx"), "{text}");
        assert!(text.lines().all(|line| term::width(line) <= 80), "{text}");
        assert_eq!(
            compared("a", "a", &Page::plain()),
            "They are the same, line for line.\n"
        );
    }
}
