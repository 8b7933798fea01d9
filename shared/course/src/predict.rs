//! Exercises that are a question: asked by `cargo course check NN.k` on a terminal, answered there or by
//! `cargo course answer NN.k b`. Every answer is stored; the first one says what was believed.

use std::io::{BufRead, IsTerminal};

use lab::term::{self, Tone};

use crate::error::CourseError;
use crate::exercise::{self, Exercise, Kind};
use crate::page::Page;
use crate::state::State;
use crate::tools::Course;

/// Shows the question, and asks for the answer on a terminal.
pub fn ask(course: &Course, exercise: &Exercise, page: &Page) -> Result<(), CourseError> {
    term::print(&question(exercise, page));
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        let text = format!("Answer with: cargo course answer {} a", exercise.id);
        term::print(&page.text(&text));
        return Ok(());
    }
    let mut lines = std::io::stdin().lock().lines();
    loop {
        term::print("> ");
        let Some(Ok(typed)) = lines.next() else {
            term::print("\n");
            return Ok(());
        };
        if typed.trim().is_empty() {
            return Ok(());
        }
        match option(&typed, &exercise.options) {
            Some(index) => {
                term::print(&store(course, exercise, index, page)?);
                return Ok(());
            }
            None => term::print(&page.text(&format!("{}, or Enter to leave it open", letters(exercise)))),
        }
    }
}

/// `cargo course answer NN.k b`: stores the answer and says what is right or wrong about it. Without an answer: the
/// question.
pub fn answer(course: &Course, id: &str, typed: Option<&str>, page: &Page) -> Result<String, CourseError> {
    let exercise = exercise::find(course, id)?;
    if exercise.kind != Kind::Predict {
        return Err(CourseError::NotNow {
            problem: format!("{} is not a question", exercise.literal()),
            action: format!("write it, then `{}`", exercise.command()),
        });
    }
    let Some(typed) = typed else {
        let how = format!("Answer with: cargo course answer {} a", exercise.id);
        return Ok(question(&exercise, page) + &page.text(&how));
    };
    let Some(index) = option(typed, &exercise.options) else {
        return Err(CourseError::NotNow {
            problem: format!("{typed:?} is none of the options of {}", exercise.literal()),
            action: letters(&exercise),
        });
    };
    store(course, &exercise, index, page)
}

fn store(course: &Course, exercise: &Exercise, index: usize, page: &Page) -> Result<String, CourseError> {
    let right = exercise.answer == Some(index);
    let times = State::update(course, |state| {
        let progress = state.exercise(&exercise.id);
        progress.answered(index, right);
        progress.answer.as_ref().map_or(1, |answer| answer.times)
    })?;
    Ok(verdict(exercise, index, times, page))
}

/// The question with its options.
pub fn question(exercise: &Exercise, page: &Page) -> String {
    let mut out = page.paint(Tone::Strong, &page.text(&exercise.literal()));
    out += &page.paint(Tone::Accent, &page.indented(&exercise.question, 2));
    for (index, option) in exercise.options.iter().enumerate() {
        out += &page.columns(&[], &[], &format!("{}) {option}", letter(index)), 4);
    }
    out
}

fn verdict(exercise: &Exercise, index: usize, times: u32, page: &Page) -> String {
    let said = format!("{}) {}", letter(index), exercise.options[index]);
    let id = &exercise.id;
    if exercise.answer != Some(index) {
        let why = exercise.answers.get(index).map_or("", String::as_str);
        let mut out = page.paint(Tone::Bad, &page.text(&format!("{said} is not it.")));
        if !why.is_empty() {
            out += &page.indented(why, 2);
        }
        let first = if times == 1 {
            " It is noted as your first answer."
        } else {
            ""
        };
        return out + "\n" + &page.text(&format!("Another try: cargo course check {id}{first}"));
    }
    let title = if times == 1 {
        "is right, at the first try."
    } else {
        "is right."
    };
    let mut out = page.paint(Tone::Good, &page.text(&format!("{said} {title}")));
    for text in [&exercise.because, &exercise.learned] {
        if !text.is_empty() {
            out += &page.indented(text, 2);
        }
    }
    out
}

/// The index of what was typed: an option's own text, its letter, or its number in the list.
fn option(typed: &str, options: &[String]) -> Option<usize> {
    let typed = half_width(typed);
    let core = typed.trim_matches(['(', ')', '[', ']', '.', ':', '"', '\'', ' ']);
    let same = |option: &String| option.trim().to_lowercase() == core;
    if let Some(index) = options.iter().position(same) {
        return Some(index);
    }
    let index = match core.as_bytes() {
        [letter @ b'a'..=b'z'] => usize::from(letter - b'a'),
        _ => core.parse::<usize>().ok()?.checked_sub(1)?,
    };
    (index < options.len()).then_some(index)
}

/// What a Chinese keyboard types as plain ASCII, in lower case.
fn half_width(text: &str) -> String {
    let narrow = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{3000}' => ' ',
        _ => c,
    };
    let text: String = text.chars().map(narrow).collect();
    text.trim().to_lowercase()
}

fn letter(index: usize) -> char {
    char::from(b'a' + (index as u8).min(25))
}

fn letters(exercise: &Exercise) -> String {
    let last = letter(exercise.options.len() - 1);
    format!("type a letter, a to {last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_read_however_it_is_typed() {
        let options: Vec<String> = ["64", "75", "2784"].map(str::to_owned).into();
        for typed in ["b", "B", " b) ", "(b)", "75", "ｂ", "２", "2."] {
            assert_eq!(option(typed, &options), Some(1), "{typed:?}");
        }
        for typed in ["d", "4", "0", "", "yes", "ab"] {
            assert_eq!(option(typed, &options), None, "{typed:?}");
        }
    }

    #[test]
    fn an_options_own_text_comes_before_its_number_in_the_list() {
        let options: Vec<String> = ["2", "1"].map(str::to_owned).into();
        assert_eq!(option("1", &options), Some(1));
        assert_eq!(option("a", &options), Some(0));
    }
}
