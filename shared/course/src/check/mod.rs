//! `cargo course check`: the lesson's tests against the learner's code, exercise by exercise.
//!
//! 1. [`examine`]: the learner's files are read and parsed. What is missing, not written, or has another signature is known now.
//! 2. [`build`]: one call of cargo builds the lesson's exercise tests (and the small program that compares costs) against the
//!    learner's crate, and nothing else of it: no story, no other test.
//! 3. When the compiler refuses something, it is taken out of a stand-in for the file ([`crate::source::mirror`]), noted for its
//!    exercise, and the rest is built: one broken function hides no other.
//! 4. [`groups`]: the test program runs once for each exercise, and what fails is told in the lesson's words.
//! 5. For what passes, the cost program counts yours and the reference's.

pub mod build;
pub mod examine;
pub mod groups;
pub mod render;
mod report;
pub mod words;

use std::path::Path;

use crate::error::CourseError;
use crate::exercise::{Exercise, Kind};
use crate::source;
use crate::state::{State, Status as Progressed};
use crate::tools::Course;
use crate::twin::{self, Twin};
use build::{Built, Goal, Programs};
use examine::Examined;

pub use report::{Checked, Cost, Diagnostic, Failure, Report, Status};

/// What to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// `05`.
    pub lesson: String,
    /// Ids, `05.1`; empty for the whole lesson.
    pub ids: Vec<String>,
}

impl Selection {
    fn holds(&self, exercise: &Exercise) -> bool {
        self.ids.is_empty() || self.ids.contains(&exercise.id)
    }
}

/// Builds until the compiler has nothing to say: each round takes out what the round before refused.
const MOST_ROUNDS: usize = 16;

/// Checks the learner's work and notes the outcome in the state.
///
/// # Errors
/// When the lesson was not started, or its twin can not be built for a reason that is not the learner's.
pub fn check(course: &Course, selection: &Selection) -> Result<Report, CourseError> {
    let twin = Twin::open(course, &selection.lesson)?;
    twin.refresh(course)?;
    let state = State::load(course)?;
    let mut examined = Examined::of(&twin, &state)?;
    let programs = built(course, &twin, &mut examined, Goal::Check)?;
    let tests = twin.tests()?;
    let mut exercises = Vec::new();
    for exercise in twin.exercises.iter().filter(|one| selection.holds(one)) {
        exercises.push(checked(&twin, exercise, &examined, &programs, &tests, selection)?);
    }
    for checked in &mut exercises {
        let group = twin.exercises.iter().find(|one| one.id == checked.id);
        let hash = group.and_then(|exercise| twin::group_hash(&tests, &exercise.group));
        let noted = state.progress(&checked.id).tests;
        checked.tests_changed = noted.is_some() && hash.is_some() && noted != hash;
    }
    add_costs(&twin, &programs, &mut exercises)?;
    note(course, &twin, &exercises, &tests)?;
    let next = next(&twin, &exercises, &State::load(course)?);
    Ok(Report {
        schema: 1,
        lesson: twin.number.clone(),
        exercises,
        next,
    })
}

/// The programs, with the learner's code wherever it compiles.
///
/// # Errors
/// When nothing of the learner's is to blame for what does not compile.
pub(crate) fn built(
    course: &Course,
    twin: &Twin,
    examined: &mut Examined<'_>,
    goal: Goal,
) -> Result<Programs, CourseError> {
    if examined.has_unparsed() {
        // The compiler explains an open brace better than our parser does, and stops there: this takes no time.
        match build::build(course, twin, goal, &[])? {
            Built::Refused(refusals) => examined.explain_unparsed(&refusals),
            Built::Done(_) => examined.explain_unparsed(&[]),
        }
    }
    let mut last = Vec::new();
    for _ in 0..MOST_ROUNDS {
        let features: &[&str] = if examined.needs_stand_ins() {
            examined.write_stand_ins()?;
            &["fallback"]
        } else {
            &[]
        };
        match build::build(course, twin, goal, features)? {
            Built::Done(programs) => {
                examined.settle();
                return Ok(programs);
            }
            Built::Refused(refusals) => {
                if !examined.blame(&refusals) && !examined.blame_all(&refusals) {
                    last = refusals;
                    break;
                }
                last = refusals;
            }
        }
    }
    let said = last.first().map_or("", |refusal| refusal.rendered.as_str());
    Err(CourseError::Twin {
        problem: format!("the lesson itself does not compile:\n{said}"),
        action: "restore the tracked files with git".to_owned(),
    })
}

/// One exercise: what is known already, or its tests.
fn checked(
    twin: &Twin,
    exercise: &Exercise,
    examined: &Examined<'_>,
    programs: &Programs,
    tests: &str,
    selection: &Selection,
) -> Result<Checked, CourseError> {
    if exercise.kind == Kind::Predict {
        return Ok(Checked::new(exercise, String::new(), Status::Question));
    }
    let file = examined.file_of(exercise);
    let mut checked = Checked::new(exercise, file.shown.clone(), Status::NotWritten);
    let mine = file
        .readable
        .as_ref()
        .and_then(|readable| readable.parsed.function(exercise.function_name()));
    checked.line = mine.map(|mine| mine.line);
    checked.body = mine.map_or(String::new(), |mine| source::hash(&mine.code));
    if let Some(status) = examined.decided.get(&exercise.id) {
        checked.status = status.clone();
        return Ok(checked);
    }
    let is_untouched = mine.is_some_and(|mine| source::is_untouched(mine, exercise, &file.shipped));
    if is_untouched && selection.ids.is_empty() {
        checked.status = Status::NotTouched;
        return Ok(checked);
    }
    if is_untouched {
        // Not an attempt.
        checked.body.clear();
    }
    let filter = format!("{}::", exercise.group);
    let ran = groups::run(&programs.tests, &twin.folder, &filter, "", groups::LIMIT)?;
    checked.num_tests = ran.num_tests();
    checked.status = if ran.is_late {
        Status::TimedOut {
            seconds: groups::LIMIT.as_secs(),
        }
    } else if !ran.failed.is_empty() {
        Status::Failed {
            failures: words::failures(twin, exercise, &ran.failed, tests),
        }
    } else if ran.passed.is_empty() {
        let group = &exercise.group;
        Status::Broken {
            problem: format!("tests/exercises.rs of the lesson has no tests in a group {group:?}"),
        }
    } else {
        checked.learned = exercise.learned.clone();
        Status::Passed
    };
    Ok(checked)
}

/// What passed is counted, yours and the reference's. A cost program that fails is no reason to take the pass away.
fn add_costs(twin: &Twin, programs: &Programs, exercises: &mut [Checked]) -> Result<(), CourseError> {
    let Some(program) = &programs.costs else {
        return Ok(());
    };
    let passed: Vec<&str> = exercises
        .iter()
        .filter(|checked| checked.status.is_passed())
        .map(|checked| checked.id.as_str())
        .collect();
    if passed.is_empty() {
        return Ok(());
    }
    let counts = counts(program, &twin.folder, &passed.join(","));
    for checked in exercises.iter_mut() {
        for task in counts.iter().filter(|task| task.exercise == checked.id) {
            let rows = task.rows().into_iter();
            checked.costs.extend(rows.map(|(counter, yours, reference)| Cost {
                what: task.what.clone(),
                counter: counter.to_owned(),
                yours,
                reference,
            }));
        }
    }
    Ok(())
}

fn counts(program: &Path, folder: &Path, ids: &str) -> Vec<lab::cost::Counts> {
    let output = std::process::Command::new(program)
        .current_dir(folder)
        .args(["counts", ids])
        .stdin(std::process::Stdio::null())
        .output();
    let output = output.map(|output| output.stdout).unwrap_or_default();
    serde_json::from_slice(&output).unwrap_or_default()
}

/// Writes down what was judged.
fn note(course: &Course, twin: &Twin, exercises: &[Checked], tests: &str) -> Result<(), CourseError> {
    let notes = twin.notes()?;
    State::update(course, |state| {
        for (id, signature, tests, _) in notes {
            let progress = state.exercise(&id);
            if progress.signature.is_none() {
                progress.signature = Some(signature);
                progress.tests = tests;
            }
        }
        for checked in exercises {
            let exercise = twin.exercises.iter().find(|one| one.id == checked.id);
            let progress = state.exercise(&checked.id);
            if checked.status.is_attempt() && !checked.body.is_empty() {
                progress.checked(checked.status.is_passed(), &checked.body);
            }
            // Told once.
            if checked.tests_changed {
                progress.tests = exercise.and_then(|exercise| twin::group_hash(tests, &exercise.group));
            }
        }
    })
}

/// The command to go on with: a hint for what is wrong, else the next exercise, else the lesson with the learner's code.
fn next(twin: &Twin, exercises: &[Checked], state: &State) -> Option<String> {
    let wrong = exercises
        .iter()
        .find(|checked| matches!(checked.status, Status::Failed { .. } | Status::TimedOut { .. }));
    if let Some(wrong) = wrong {
        return Some(format!("cargo course hint {}", wrong.id));
    }
    let stuck = exercises.iter().find(|checked| {
        !matches!(
            checked.status,
            Status::Passed | Status::NotWritten | Status::NotTouched | Status::Question
        )
    });
    if let Some(stuck) = stuck {
        return Some(match stuck.status {
            Status::FileMissing => format!("cargo course start {}", twin.number),
            Status::Deleted => format!("cargo course reset {}", stuck.id),
            _ => format!("cargo course check {}", stuck.id),
        });
    }
    let is_open = |exercise: &&Exercise| {
        let progress = state.progress(&exercise.id);
        progress.status != Progressed::Passed && !progress.skipped && progress.answer.is_none()
    };
    match twin.exercises.iter().find(is_open) {
        Some(exercise) => Some(exercise.command()),
        None => Some(format!("cargo course run {}", twin.number)),
    }
}
