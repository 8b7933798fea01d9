//! `cargo course check`: the lesson's tests against the learner's code, exercise by exercise.
//!
//! 1. [`examine`]: the learner's files are read and parsed. What is missing, not written, or has another signature is
//!    known now.
//! 2. [`build`]: one call of cargo builds the lesson's exercise tests (and the small program that compares costs)
//!    against the learner's crate, and nothing else of it: no story, no other test.
//! 3. When the compiler refuses something, it is taken out of a stand-in for the file ([`crate::source::mirror`]),
//!    noted for its exercise, and the rest is built: one broken function hides no other.
//! 4. [`groups`]: the test program runs once for each exercise, and what fails is told in the lesson's words.
//! 5. For what passes, the cost program counts yours and the reference's.

pub mod build;
pub mod examine;
pub mod groups;
pub mod render;
mod report;
pub mod words;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::child::How;
use crate::error::CourseError;
use crate::exercise::{Exercise, Kind};
use crate::source;
use crate::state::{State, Status as Progressed};
use crate::tools::Course;
use crate::twin::{self, Twin};
use build::{Built, Goal};
use examine::Examined;

pub use report::{Checked, Cost, Diagnostic, Failure, Idea, Report, Status};

/// What to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The lesson's number, `05`.
    pub lesson: String,
    /// Ids of exercises, `05.1`; empty for the whole lesson.
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
    let tests = twin.tests()?;
    let selected = || twin.exercises.iter().filter(|one| selection.holds(one));
    // Where nothing is written there is nothing to build, which takes minutes the first time.
    let programs = match selected().any(|one| to_run(one, &examined, selection)) {
        true => built(course, &twin, &mut examined, Goal::Check)?,
        false => Built::default(),
    };
    let mut exercises = Vec::new();
    for exercise in selected() {
        let mut checked = checked(course, &twin, exercise, &examined, &programs, &tests, selection)?;
        let hash = twin::group_hash(&tests, &exercise.group);
        let noted = state.progress(&checked.id).tests;
        checked.tests_changed = noted.is_some() && hash.is_some() && noted != hash;
        exercises.push(checked);
    }
    note(course, &twin, &exercises, &tests)?;
    let next = next(&twin, &exercises, &State::load(course)?);
    Ok(Report {
        schema: 1,
        lesson: twin.number.clone(),
        exercises,
        next,
    })
}

/// Builds the tests of a lesson that was started, so that the next check does not have to.
pub fn warm(course: &Course, lesson: &str) -> Result<(), CourseError> {
    let twin = Twin::open(course, lesson)?;
    let mut examined = Examined::of(&twin, &State::load(course)?)?;
    built(course, &twin, &mut examined, Goal::Check).map(drop)
}

/// Whether tests have to be run to judge an exercise, or the compiler asked.
fn to_run(exercise: &Exercise, examined: &Examined<'_>, selection: &Selection) -> bool {
    match examined.decided.get(&exercise.id) {
        // Whether it compiles is for the compiler to say.
        Some(status) => matches!(status, Status::DoesNotCompile { .. }),
        None => exercise.has_code() && (!selection.ids.is_empty() || !examined.is_untouched(exercise)),
    }
}

/// The programs, with the learner's code wherever it compiles.
pub(crate) fn built(
    course: &Course,
    twin: &Twin,
    examined: &mut Examined<'_>,
    goal: Goal,
) -> Result<Built, CourseError> {
    if examined.has_unparsed() {
        // The compiler explains an open brace better than our parser does, and stops there: this takes no time.
        examined.explain_unparsed(&build::build(course, twin, goal, false)?.refusals);
    }
    let mut last = String::new();
    for _ in 0..MOST_ROUNDS {
        let with_stand_ins = examined.needs_stand_ins();
        if with_stand_ins {
            examined.write_stand_ins()?;
        }
        let built = build::build(course, twin, goal, with_stand_ins)?;
        let Some(first) = built.refusals.first() else {
            return Ok(built);
        };
        last = first.rendered.clone();
        if !examined.blame(&built.refusals) && !examined.blame_all(&built.refusals) {
            break;
        }
    }
    Err(CourseError::Twin {
        problem: format!("the lesson itself does not compile:\n{last}"),
        action: "restore the tracked files with git".to_owned(),
    })
}

/// One exercise: what is known already, or its tests.
fn checked(
    course: &Course,
    twin: &Twin,
    exercise: &Exercise,
    examined: &Examined<'_>,
    programs: &Built,
    tests: &str,
    selection: &Selection,
) -> Result<Checked, CourseError> {
    if exercise.kind == Kind::Predict {
        return Ok(Checked::new(exercise, String::new(), Status::Question));
    }
    let file = examined.file_of(exercise);
    let mut checked = Checked::new(exercise, file.shown.clone(), Status::NotWritten);
    let mine = file.function(exercise);
    checked.line = mine.map(|mine| mine.line);
    if let Some(status) = examined.decided.get(&exercise.id) {
        checked.status = status.clone();
        checked.body = mine.map_or(String::new(), |mine| source::hash(&mine.code));
        return Ok(checked);
    }
    if !to_run(exercise, examined, selection) {
        checked.status = Status::NotTouched;
        return Ok(checked);
    }
    // A body as it ships is no attempt.
    if !examined.is_untouched(exercise) {
        checked.body = mine.map_or(String::new(), |mine| source::hash(&mine.code));
    }
    let filter = format!("{}::", exercise.group);
    let program = |kind: &str| programs.program(&format!("{}-{kind}", twin.package()));
    let tests_program = program("exercises").unwrap_or(Path::new("the lesson's tests"));
    let ran = groups::run(tests_program, &twin.folder, &filter, "", course.limit)?;
    checked.num_tests = ran.num_tests();
    checked.status = if let Some(late) = &ran.late {
        Status::TimedOut {
            seconds: course.limit.as_secs(),
            test: late.rsplit("::").next().unwrap_or_default().to_owned(),
        }
    } else if !ran.failed.is_empty() {
        let mut failures = words::failures(twin, exercise, &ran, tests);
        // Two ideas that both explain it: none is named.
        let named = match words::ideas(exercise, &ran, &failures).as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        if let Some(idea) = named {
            words::show_first(&mut failures, idea);
        }
        let idea = named.map(|idea| Idea {
            name: idea.name.clone(),
            says: idea.says.clone(),
        });
        Status::Failed { failures, idea }
    } else if ran.passed.is_empty() {
        let group = &exercise.group;
        Status::Broken {
            problem: format!("tests/exercises.rs of the lesson has no tests in a group {group:?}"),
        }
    } else {
        checked.learned = exercise.learned.clone();
        if let Some(program) = program("costs") {
            (checked.costs, checked.uncounted) = costs(program, &twin.folder, &exercise.id, course.limit)?;
        }
        Status::Passed
    };
    Ok(checked)
}

/// Counts what the learner's function and the reference's cost, and says why where that can not be counted. A cost
/// program that fails is no reason to take the pass away.
fn costs(program: &Path, folder: &Path, id: &str, limit: Duration) -> Result<(Vec<Cost>, Option<String>), CourseError> {
    let ended = groups::start(Command::new(program).args(["counts", id]), folder, limit)?;
    let why = match ended.how {
        How::Exited(_) => None,
        How::Late => Some(format!("it did not end within {} seconds", limit.as_secs())),
        How::TooMuchOutput => Some("it printed without end".to_owned()),
    };
    // The counts are the last line: what the learner's code prints comes before it.
    let last = ended.stdout.trim_end().lines().next_back().unwrap_or_default();
    let tasks: Vec<lab::cost::Counts> = serde_json::from_str(last).unwrap_or_default();
    let mut found = Vec::new();
    for task in tasks.iter().filter(|task| task.exercise == id) {
        found.extend(task.rows().into_iter().map(|(counter, yours, reference)| Cost {
            what: task.what.clone(),
            counter: counter.to_owned(),
            yours,
            reference,
        }));
    }
    Ok((found, why))
}

/// Writes down what was judged.
fn note(course: &Course, twin: &Twin, exercises: &[Checked], tests: &str) -> Result<(), CourseError> {
    State::update(course, |state| {
        twin.note_lesson(state, &[])?;
        for checked in exercises {
            let progress = state.exercise(&checked.id);
            if checked.status.is_attempt() && !checked.body.is_empty() {
                progress.checked(checked.status.is_passed(), &checked.body);
            }
            // Told once.
            if checked.tests_changed {
                let exercise = twin.exercises.iter().find(|one| one.id == checked.id);
                progress.tests = exercise.and_then(|exercise| twin::group_hash(tests, &exercise.group));
            }
        }
        Ok(())
    })?
}

/// The command to go on with: a hint for what is wrong, else the next exercise, else the lesson with the learner's
/// code.
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
        let is_answered = !exercise.has_code() && progress.status != Progressed::Open;
        progress.status != Progressed::Passed && !progress.skipped && !is_answered
    };
    match twin.exercises.iter().find(is_open) {
        Some(exercise) => Some(exercise.command()),
        None => Some(format!("cargo course run {}", twin.number)),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Stands for a cost program that runs the learner's code.
    fn counted(script: &str, seconds: u64) -> (Vec<Cost>, Option<String>) {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("costs");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        costs(&program, folder.path(), "05.1", Duration::from_secs(seconds)).unwrap()
    }

    #[test]
    fn a_cost_program_that_does_not_end_is_ended_and_told() {
        let (costs, why) = counted("sleep 600", 1);
        assert_eq!(
            (costs, why.as_deref()),
            (Vec::new(), Some("it did not end within 1 seconds"))
        );
        assert_eq!(counted("yes", 60).1.as_deref(), Some("it printed without end"));
    }

    #[test]
    fn what_the_learners_code_prints_is_no_count() {
        let counts = r#"[{"exercise":"05.1","what":"one","yours":{"rows":2},"reference":{"rows":1}}]"#;
        let (costs, why) = counted(&format!("echo '[]'\nprintf noise\necho\necho '{counts}'"), 60);
        assert_eq!((costs.len(), costs[1].yours, why), (2, 2, None));
    }
}
