//! A report as a page: one line an exercise, and then what needs words.
//!
//! One exercise is told whole. Of a lesson the table comes first, then the first exercise that is wrong and those that
//! passed for the first time; the others are a command away.

mod told;

use lab::term::{self, Tone};

use super::{Checked, Report, Status};
use crate::page::Page;
use crate::state::{State, Status as Progressed};

/// Columns before what belongs to a title.
const INDENT: usize = 2;

/// The page. `before` is the learner's state before this check: it says what is new, and how questions were answered.
pub fn render(report: &Report, before: &State, page: &Page) -> String {
    let is_news = |one: &&Checked| one.status.is_passed() && before.progress(&one.id).passed_at.is_none();
    let mut out = String::new();
    if let [only] = report.exercises.as_slice() {
        out += &told::told(only, page);
    } else {
        out += &table(report, before, page);
        let wrong = report.exercises.iter().filter(|one| needs_words(one));
        let passed = report.exercises.iter().filter(is_news);
        for one in passed.chain(wrong.clone().take(1)) {
            out += "\n";
            out += &told::told(one, page);
        }
        let later: Vec<&str> = wrong.skip(1).map(|one| one.id.as_str()).collect();
        if !later.is_empty() {
            out += "\n";
            let text = format!(
                "Also to look at: {}. One alone: cargo course check {}",
                later.join(", "),
                later[0]
            );
            out += &page.paint(Tone::Dim, &page.text(&text));
        }
    }
    if let Some(next) = &report.next {
        out += "\n";
        out += &page.text(&format!("Next: {next}"));
    }
    out
}

/// Whether more is to be said than its word in the table.
fn needs_words(one: &Checked) -> bool {
    !matches!(
        one.status,
        Status::Passed | Status::NotWritten | Status::NotTouched | Status::Question
    )
}

fn table(report: &Report, before: &State, page: &Page) -> String {
    let graded = report.exercises.iter().filter(|one| !is_question(one));
    let passed = graded.clone().filter(|one| one.status.is_passed()).count();
    let title = format!("Lesson {}: {passed} of {} pass\n", report.lesson, graded.count());
    let mut out = page.paint(Tone::Strong, &title);
    for one in &report.exercises {
        let progress = before.progress(&one.id);
        let answer = progress
            .answer
            .filter(|_| is_question(one) && progress.status != Progressed::Open);
        let (word, tone) = match &answer {
            None => word(&one.status),
            Some(answer) if answer.first_right => ("right", Tone::Good),
            Some(_) => ("answered", Tone::Plain),
        };
        let last = match &answer {
            None => summary(one),
            Some(answer) if answer.first_right => "at once".into(),
            Some(_) => "wrong at first".into(),
        };
        let title = term::cut(&one.title, 30);
        let row = page.columns(&[word, &one.id, &title], &[10, 5, 30], &last, 51);
        out += &row.replacen(word, &page.paint(tone, word), 1);
    }
    out
}

fn is_question(one: &Checked) -> bool {
    matches!(one.status, Status::Question)
}

/// The word of the table, and its tone.
fn word(status: &Status) -> (&'static str, Tone) {
    match status {
        Status::Passed => ("ok", Tone::Good),
        Status::Failed { .. } => ("wrong", Tone::Bad),
        Status::NotWritten | Status::NotTouched => ("open", Tone::Plain),
        Status::Question => ("question", Tone::Plain),
        Status::Deleted => ("gone", Tone::Bad),
        Status::FileMissing => ("no file", Tone::Bad),
        Status::SignatureChanged { .. } => ("signature", Tone::Bad),
        Status::LessonChanged { .. } => ("changed", Tone::Warn),
        Status::DoesNotCompile { .. } => ("error", Tone::Bad),
        Status::TimedOut { .. } => ("endless", Tone::Bad),
        Status::Broken { .. } => ("broken", Tone::Warn),
    }
}

/// The last column of the table.
fn summary(one: &Checked) -> String {
    match &one.status {
        Status::Passed => String::new(),
        Status::Failed { failures, .. } => format!("{} of {} fail", failures.len(), one.num_tests),
        Status::NotWritten => "not written".into(),
        Status::NotTouched => "as shipped".into(),
        Status::Question => "to be answered".into(),
        Status::Deleted => "function deleted".into(),
        Status::FileMissing => "file missing".into(),
        Status::SignatureChanged { .. } => "yours differs".into(),
        Status::LessonChanged { .. } => "the lesson's is new".into(),
        Status::DoesNotCompile { .. } => "does not compile".into(),
        Status::TimedOut { seconds, .. } => format!("over {seconds} s"),
        Status::Broken { .. } => "not your fault".into(),
    }
}
