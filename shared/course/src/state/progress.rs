//! What happened to one exercise.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock;

/// What happened to one exercise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// What the last check found.
    pub status: Status,
    /// Number of different bodies that were checked.
    pub attempts: u32,
    /// Number of hints that were shown, 0 to 3.
    pub hints: u32,
    /// Whether the solution was asked for before a pass.
    pub gave_up: bool,
    /// Whether the reader leaves it out.
    pub skipped: bool,
    /// The answer to a predict exercise.
    pub answer: Option<Answer>,
    /// The tracked signature when the learner's file was made, one line, blanks normalised.
    pub signature: Option<String>,
    /// Hash of the group of tests when the learner's file was made, or when a change of it was last told.
    pub tests: Option<String>,
    /// Hash of the last body that was checked: a check of the same text again is not another attempt.
    pub body: Option<String>,
    /// When it was first worked on: a hint, a check of a written body, an answer, the solution.
    pub started_at: Option<String>,
    /// When it was last checked or answered.
    pub checked_at: Option<String>,
    /// When it first passed. Stays when a later check fails.
    pub passed_at: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// What the last check of an exercise found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Not checked yet, or not written.
    #[default]
    Open,
    /// Checked and not right.
    Failing,
    /// Checked and right.
    Passed,
}

/// The answers to a predict exercise. The first one is what was believed; it stays when the question is opened again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Index of the option answered first.
    pub first: usize,
    /// Whether that answer was right.
    pub first_right: bool,
    /// Index of the option answered last.
    pub latest: usize,
    /// Whether that answer was right.
    pub latest_right: bool,
    /// Number of answers.
    pub times: u32,
}

impl Progress {
    /// Notes that it is being worked on.
    pub fn begin(&mut self) {
        self.started_at.get_or_insert_with(clock::now);
    }

    /// Notes a check of a written body. `body` is any hash of its text.
    pub fn checked(&mut self, passed: bool, body: &str) {
        self.begin();
        if self.body.as_deref() != Some(body) {
            self.attempts += 1;
            self.body = Some(body.to_owned());
        }
        self.decided(passed);
    }

    /// Notes an answer to a predict exercise.
    pub fn answered(&mut self, option: usize, right: bool) {
        self.begin();
        let answer = self.answer.get_or_insert_default();
        if answer.times == 0 {
            (answer.first, answer.first_right) = (option, right);
        }
        (answer.latest, answer.latest_right) = (option, right);
        answer.times += 1;
        self.attempts += 1;
        self.decided(right);
    }

    fn decided(&mut self, passed: bool) {
        let now = clock::now();
        self.status = if passed { Status::Passed } else { Status::Failing };
        if passed {
            self.skipped = false;
            self.passed_at.get_or_insert_with(|| now.clone());
        }
        self.checked_at = Some(now);
    }

    /// Opens it again, as before the first check. What a teacher counts stays: attempts, hints, a give-up, the first
    /// answer, and when it was begun.
    pub fn reopen(&mut self) {
        self.status = Status::Open;
        self.skipped = false;
        (self.body, self.checked_at, self.passed_at) = (None, None, None);
        (self.signature, self.tests) = (None, None);
    }

    /// Whether the solution may be shown: it passed once, or the reader gave up.
    pub fn may_see_solution(&self) -> bool {
        self.passed_at.is_some() || self.gave_up
    }
}
