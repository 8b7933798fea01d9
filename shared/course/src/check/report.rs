//! What a check found, as plain data: printed by [`super::render`], and as it is with `--json`.

use serde::Serialize;

use crate::exercise::{Exercise, Kind};

/// How one exercise stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// Every test of its group passes.
    Passed,
    /// Its code compiles, and tests fail.
    Failed {
        /// The tests that fail: the one that the idea speaks of, then the others in the order of the file.
        failures: Vec<Failure>,
        /// The wrong idea behind them, where the tests can tell it from an ordinary bug.
        idea: Option<Idea>,
    },
    /// The `todo!` still stands in the body.
    NotWritten,
    /// A mend exercise whose faulty lines are as they were shipped. When it is asked for alone, its tests are run and
    /// it is `Failed`: what fails is the trail to follow.
    NotTouched,
    /// The function is not in the learner's file any more.
    Deleted,
    /// The learner changed the signature, so that the rest of the lesson can not call it.
    SignatureChanged {
        /// The lesson's signature.
        expected: String,
        /// The signature in the learner's file.
        found: String,
    },
    /// The lesson changed the signature after the learner started: the work is kept and has to be fitted.
    LessonChanged {
        /// The signature when the learner started.
        before: String,
        /// The lesson's signature now.
        now: String,
    },
    /// The learner's file is not there.
    FileMissing,
    /// rustc refuses the learner's code.
    DoesNotCompile {
        /// What rustc says, with the learner's own file and lines.
        errors: Vec<Diagnostic>,
    },
    /// A test did not end in time: a loop that does not stop.
    TimedOut {
        /// The limit of time for one test, in seconds.
        seconds: u64,
        /// The test's name without its group.
        test: String,
    },
    /// A question: it is answered with `cargo course answer`, not checked here.
    Question,
    /// The lesson itself is not whole: not the learner's fault.
    Broken {
        /// What is missing in the lesson.
        problem: String,
    },
}

impl Status {
    /// Whether it passed.
    pub fn is_passed(&self) -> bool {
        matches!(self, Status::Passed)
    }

    /// Whether the learner's code can not be used, so that the reference stands in for it.
    pub fn is_unusable(&self) -> bool {
        matches!(
            self,
            Status::Deleted
                | Status::SignatureChanged { .. }
                | Status::LessonChanged { .. }
                | Status::FileMissing
                | Status::DoesNotCompile { .. }
        )
    }

    /// Whether the learner's own body was judged: an attempt.
    pub fn is_attempt(&self) -> bool {
        matches!(
            self,
            Status::Passed | Status::Failed { .. } | Status::DoesNotCompile { .. } | Status::TimedOut { .. }
        )
    }
}

/// A test that fails.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// The test's name without its group.
    pub test: String,
    /// The name as a sentence: "pairs are half a head apart".
    pub claim: String,
    /// The prose above the test in the lesson; may be empty.
    pub why: String,
    /// What the test printed: expected, found, the smallest counter-example.
    pub message: String,
    /// The place of a panic in the learner's own file, `work/lesson05/src/kernels.rs:12`.
    pub at: Option<String>,
}

/// A wrong idea.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Idea {
    /// The idea as a statement.
    pub name: String,
    /// Why it is wrong, and what to look at.
    pub says: String,
}

/// An error of the compiler in the learner's file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostic {
    /// The learner's file, `work/lesson05/src/kernels.rs`.
    pub file: String,
    /// The line in it, from 1.
    pub line: usize,
    /// The error in one line.
    pub message: String,
    /// The error as rustc draws it, without colours.
    pub rendered: String,
}

/// One counter of the ledger, yours against the reference's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// The work that was counted: "one row of 256".
    pub what: String,
    /// The counter's name: `multiply_adds`.
    pub counter: String,
    /// Count for the learner's function.
    pub yours: u64,
    /// Count for the reference's function.
    pub reference: u64,
}

/// One exercise of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    /// The exercise's id, `05.1`.
    pub id: String,
    /// What the learner is asked to do.
    pub kind: Kind,
    /// The exercise's title.
    pub title: String,
    /// Path of the function, `kernels::rms_norm`.
    pub function: String,
    /// The learner's file, `work/lesson05/src/kernels.rs`.
    pub file: String,
    /// Line of the function in it, where it was found.
    pub line: Option<usize>,
    /// How the exercise stands.
    #[serde(flatten)]
    pub status: Status,
    /// Number of tests that were run.
    pub num_tests: usize,
    /// After a pass: what was learned.
    pub learned: String,
    /// After a pass: what the function cost, where the lesson has a task for it.
    pub costs: Vec<Cost>,
    /// After a pass: why the costs could not be counted.
    pub uncounted: Option<String>,
    /// The place in the built book, `target/book/05-generation.html#05-1`.
    pub page: String,
    /// Hash of the body that was judged, by which attempts are counted; empty where none was.
    pub body: String,
    /// Whether the lesson's tests of it changed since the learner started.
    pub tests_changed: bool,
}

impl Checked {
    /// An exercise with its status and nothing else yet.
    pub fn new(exercise: &Exercise, file: String, status: Status) -> Self {
        Self {
            id: exercise.id.clone(),
            kind: exercise.kind,
            title: exercise.title.clone(),
            function: exercise.function.clone(),
            file,
            line: None,
            status,
            num_tests: 0,
            learned: String::new(),
            costs: Vec::new(),
            uncounted: None,
            page: exercise.built_page(),
            body: String::new(),
            tests_changed: false,
        }
    }
}

/// What `cargo course check` found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Version of the form of this report.
    pub schema: u32,
    /// The lesson's number, `05`.
    pub lesson: String,
    /// The exercises that were asked for, in the order of the story.
    pub exercises: Vec<Checked>,
    /// The command to go on with.
    pub next: Option<String>,
}

impl Report {
    /// Whether every exercise with code passed.
    pub fn is_passed(&self) -> bool {
        self.exercises
            .iter()
            .all(|checked| checked.status.is_passed() || checked.kind == Kind::Predict)
    }
}
