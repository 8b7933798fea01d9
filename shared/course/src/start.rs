//! `cargo course start NN`: the learner's files, and what to do with them.

use lab::term::Tone;

use crate::error::CourseError;
use crate::exercise::Exercise;
use crate::lessons;
use crate::list::progress;
use crate::page::Page;
use crate::state::State;
use crate::tools::Course;
use crate::twin::Twin;

/// Makes what is missing, and says what there is and where to begin.
pub fn start(course: &Course, asked: &str, page: &Page) -> Result<String, CourseError> {
    let number = lessons::find(course, asked)?;
    let (twin, started) = Twin::start(course, &number)?;
    let folder = course.shown(&twin.folder);
    let title = match (started.made.is_empty(), started.kept.is_empty()) {
        (true, _) => format!("{folder} is here already; nothing of yours was changed."),
        (false, true) => format!("{folder} is yours."),
        (false, false) => {
            format!("{folder}: what was missing was made; the rest is as you left it.")
        }
    };
    let mut out = page.paint(Tone::Strong, &page.text(&title));
    for file in started.made.iter().chain(&started.kept) {
        let here = twin.files.iter().filter(|known| known.learners == *file);
        let ids: Vec<&str> = here
            .flat_map(|file| &file.exercises)
            .map(|one| one.id.as_str())
            .collect();
        out += &page.columns(&[&format!("  {}", course.shown(file))], &[42], &ids.join(" "), 46);
    }
    out += "\n";
    let state = State::load(course)?;
    Ok(out + &first(&twin, &number, &state, page))
}

fn first(twin: &Twin, number: &str, state: &State, page: &Page) -> String {
    let Some(next) = progress::next(&twin.exercises, state) else {
        return page.text(&format!("All exercises are done. Run it: cargo course run {number}"));
    };
    let mut out = page.text(&format!("Begin with {} ({} minutes).", next.literal(), next.minutes));
    let mut row = |what: &str, how: &str| out += &page.columns(&[what], &[10], how, 14);
    let check = next.command();
    let all = format!("cargo course watch {number}");
    let hint = format!("cargo course hint {}", next.id);
    row("  read", &next.built_page());
    row("  check", &check);
    if next.has_code() {
        row("  or", &format!("{all}   (checks whenever you save)"));
    }
    row("  stuck?", &hint);
    out + &note(&twin.exercises, page)
}

/// What a body that is not written means.
fn note(exercises: &[Exercise], page: &Page) -> String {
    if !exercises.iter().any(Exercise::has_code) {
        return String::new();
    }
    let text =
        "A body that you have not written yet runs as the lesson's own, so you can do the exercises in any order.";
    format!("\n{}", page.paint(Tone::Dim, &page.text(text)))
}
