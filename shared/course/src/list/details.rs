//! `cargo course list 05`: the exercises of a lesson, and what happened to each.

use lab::term::{self, Tone};
use serde_json::{Value, json};

use super::progress::{self, Counts};
use crate::exercise::Exercise;
use crate::lessons::Lesson;
use crate::page::Page;
use crate::state::{Progress, State};

/// The page of one lesson.
pub fn details(lesson: &Lesson, exercises: &[Exercise], state: &State, page: &Page) -> String {
    let title = format!("{} {}", lesson.number, lesson.title);
    let mut out = page.paint(Tone::Strong, &page.text(&title));
    if !lesson.question.is_empty() {
        out += &page.paint(Tone::Accent, &page.text(&lesson.question));
    }
    if exercises.is_empty() {
        return out + "\nNo exercises yet.\n";
    }
    let columns = [5, 28, 7, 7, 5];
    let at = columns.iter().sum::<usize>() + 2 * columns.len();
    let header = ["", "exercise", "", "kind", "min"];
    out += "\n";
    out += &page.paint(Tone::Dim, &page.columns(&header, &columns, "", at));
    for exercise in exercises {
        let progress = state.progress(&exercise.id);
        let word = progress::word(&progress);
        let title = term::cut(&exercise.title, columns[1]);
        let minutes = format!("{:>3}", exercise.minutes);
        let cells = [exercise.id.as_str(), &title, word, exercise.kind.word(), &minutes];
        let row = page.columns(&cells, &columns, &notes(exercise, &progress), at);
        out += &row.replacen(word, &page.paint(tone(word), word), 1);
    }
    let (core, extra): (Vec<&Exercise>, Vec<&Exercise>) = exercises.iter().partition(|exercise| exercise.core);
    let core = Counts::of(core, state).text();
    let extra = Counts::of(extra, state).text();
    let extra = if extra.is_empty() {
        extra
    } else {
        format!(", extra: {extra}")
    };
    out += &format!("\nCore: {core}{extra}\n");
    out + &page.text(&advice(lesson, exercises, state))
}

fn tone(word: &str) -> Tone {
    match word {
        "passed" => Tone::Good,
        "failing" => Tone::Bad,
        "skipped" => Tone::Dim,
        _ => Tone::Plain,
    }
}

/// What stands behind an exercise: its level, and what happened.
fn notes(exercise: &Exercise, progress: &Progress) -> String {
    let mut notes = vec![format!("level {}", exercise.difficulty)];
    if !exercise.core {
        notes.push("extra".into());
    }
    let mut count = |number: u32, one: &str, many: &str| {
        if number > 0 {
            notes.push(format!("{number} {}", if number == 1 { one } else { many }));
        }
    };
    count(progress.attempts, "try", "tries");
    count(progress.hints, "hint", "hints");
    if let Some(answer) = progress.answer.as_ref().filter(|answer| !answer.first_right) {
        let said = exercise.options.get(answer.first).map_or("", String::as_str);
        notes.push(format!("first answer: {}", term::cut(said, 20)));
    }
    if progress.gave_up {
        notes.push("gave up".into());
    }
    notes.join(", ")
}

fn advice(lesson: &Lesson, exercises: &[Exercise], state: &State) -> String {
    let number = &lesson.number;
    match progress::next(exercises, state) {
        None => format!("All done. See the whole run on your code: cargo course run {number}"),
        Some(next) if next.has_code() && !state.lessons.contains_key(number) => {
            format!("Start: cargo course start {number}")
        }
        Some(next) => format!("Next: {}", next.command()),
    }
}

/// The same for machines.
pub fn details_json(lesson: &Lesson, exercises: &[Exercise], state: &State) -> Value {
    let exercises: Vec<Value> = exercises
        .iter()
        .map(|exercise| {
            let progress = state.progress(&exercise.id);
            json!({
                "id": exercise.id, "title": exercise.title, "kind": exercise.kind,
                "function": exercise.function, "minutes": exercise.minutes,
                "difficulty": exercise.difficulty, "core": exercise.core,
                "page": exercise.page, "state": progress::word(&progress), "progress": progress,
            })
        })
        .collect();
    json!({ "schema": 1, "lesson": lesson, "exercises": exercises })
}
