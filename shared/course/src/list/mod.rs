//! `cargo course list`: what there is to learn, how long it takes, and how far the reader is.

mod details;
pub mod progress;

use lab::term::{self, Tone};

use crate::error::CourseError;
use crate::lessons::Lesson;
use crate::page::Page;
pub use details::{details, details_json};
use progress::Counts;

/// The table of lessons, each with how many of its exercises are done. Lessons whose `course.toml` is wrong follow at
/// its end, each with its reason.
pub fn render(lessons: &[Result<Lesson, CourseError>], counts: &dyn Fn(&str) -> Counts, page: &Page) -> String {
    let good: Vec<&Lesson> = lessons.iter().flatten().collect();
    let title_columns = good
        .iter()
        .map(|lesson| term::width(&lesson.title))
        .max()
        .unwrap_or(0)
        .clamp(6, 20);
    let columns = [2, title_columns, 10, 7, 5];
    let question_column = columns.iter().sum::<usize>() + 2 * columns.len();
    let mut out = String::new();
    let header = ["", "lesson", "layer", "minutes", "done"];
    out += &page.paint(
        Tone::Dim,
        &page.columns(&header, &columns, "what it asks", question_column),
    );
    for lesson in good {
        let minutes = lesson.minutes.main_part();
        let minutes = if minutes == 0 {
            String::new()
        } else {
            format!("{minutes:>3}{}", extra(lesson))
        };
        let done = counts(&lesson.number).text();
        let cells = [
            lesson.number.as_str(),
            lesson.title.as_str(),
            lesson.layer.as_str(),
            minutes.as_str(),
            done.as_str(),
        ];
        let claims = lesson.claims.join(" ");
        let question = match (lesson.question.is_empty(), claims.is_empty()) {
            (_, true) => lesson.question.clone(),
            (true, false) => format!("claims {claims}"),
            (false, false) => format!("{}\nclaims {claims}", lesson.question),
        };
        out += &page.columns(&cells, &columns, &question, question_column);
    }
    for error in lessons.iter().filter_map(|lesson| lesson.as_ref().err()) {
        out += &page.paint(Tone::Bad, &page.text(&format!("! {error}")));
    }
    out + "\nMinutes: reading, running and core exercises, + extra ones. Done: exercises.\n\
           Run one: cargo course run 05. Its exercises: cargo course list 05\n"
}

fn extra(lesson: &Lesson) -> String {
    if lesson.minutes.extra == 0 {
        String::new()
    } else {
        format!("+{}", lesson.minutes.extra)
    }
}
