//! `cargo course doctor`: is this machine ready, and what to do where it is not.
//!
//! Only what stops a lesson is a problem (status 1). What makes one slower, or an option unavailable, is a note.

pub mod machine;
mod software;

use lab::machine::Machine;
use lab::term::Tone;
use serde::Serialize;

use crate::page::Page;
use crate::tools::Course;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As it should be.
    Ok,
    /// Works, with something to know.
    Note,
    /// A lesson will not work.
    Problem,
}

/// One check.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// A short name.
    pub id: &'static str,
    /// How it came out.
    pub status: Status,
    /// What was found.
    pub found: String,
    /// What to do; empty when nothing.
    pub advice: String,
}

impl Check {
    fn new(id: &'static str, status: Status, found: impl Into<String>, advice: impl Into<String>) -> Self {
        let (found, advice) = (found.into(), advice.into());
        Self {
            id,
            status,
            found,
            advice,
        }
    }

    fn ok(id: &'static str, found: impl Into<String>) -> Self {
        Self::new(id, Status::Ok, found, "")
    }

    fn note(id: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(id, Status::Note, found, advice)
    }

    fn problem(id: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(id, Status::Problem, found, advice)
    }
}

/// All checks, in the order of a reader's needs. The checksums come last: they may build lesson 04 first.
pub fn examine(course: &Course) -> Vec<Check> {
    let machine = &Machine::detect();
    vec![
        software::toolchain(course),
        machine::processor(machine),
        machine::cores(machine),
        machine::memory(machine),
        machine::huge_pages(),
        machine::disk(course),
        software::terminal(),
        software::python(course),
        software::models(course),
        software::data(course),
    ]
}

/// Whether any check is a problem.
pub fn is_sick(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.status == Status::Problem)
}

/// The checks as a page: status, name, what was found, and below it what to do.
pub fn render(checks: &[Check], page: &Page) -> String {
    let mut out = String::new();
    for check in checks {
        let (word, tone) = match check.status {
            Status::Ok => ("ok", Tone::Good),
            Status::Note => ("note", Tone::Warn),
            Status::Problem => ("PROBLEM", Tone::Bad),
        };
        let rows = page.columns(&[word, check.id], &[7, 11], &check.found, 22);
        out += &rows.replacen(word, &page.paint(tone, word), 1);
        if !check.advice.is_empty() {
            out += &page.columns(&[], &[], &format!("-> {}", check.advice), 22);
        }
    }
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let end = match (count(Status::Problem), count(Status::Note)) {
        (0, 0) => "Everything is as it should be.".to_owned(),
        (0, notes) => format!("Ready. {notes} to know about, nothing in the way."),
        (problems, _) => format!("{problems} in the way: do what its arrow says, then run this again."),
    };
    out + "\n" + &page.text(&end)
}
