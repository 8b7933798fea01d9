//! `cargo course run NN …`: a lesson's story, on the learner's code once the lesson was started, and then the race:
//! yours against the reference.

use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use crate::check::build::Goal;
use crate::check::examine::Examined;
use crate::check::{self, Status};
use crate::child;
use crate::data::verify::no_cargo;
use crate::error::CourseError;
use crate::exercise::Exercise;
use crate::lessons;
use crate::page::Page;
use crate::source::{self, functions};
use crate::state::State;
use crate::tools::Course;
use crate::twin::Twin;

/// How long a story may take on the learner's code when it waits for no reader, and a race of both codes.
const LIMIT: Duration = Duration::from_secs(600);

/// Runs the lesson with the reader's terminal and arguments: the twin where there is one, unless `reference` is asked
/// for.
///
/// # Errors
/// When there is no such lesson, no cargo, or the learner's code does not compile or does not end.
pub fn run(course: &Course, asked: &str, reference: bool, arguments: &[String]) -> Result<ExitStatus, CourseError> {
    let number = lessons::find(course, asked)?;
    // `run 05 -- --no-pause`, as one writes it for cargo.
    let arguments = match arguments {
        [first, rest @ ..] if first == "--" => rest,
        all => all,
    };
    let twin = match Twin::open(course, &number) {
        Ok(twin) if !reference => twin,
        Err(CourseError::NotStarted { .. }) | Ok(_) => {
            return finish(course, course.lesson(&number).args(arguments), None, "");
        }
        Err(error) => return Err(error),
    };
    twin.refresh(course)?;
    let mut examined = Examined::of(&twin, &State::load(course)?)?;
    let programs = check::built(course, &twin, &mut examined, Goal::Run)?;
    let is_unusable = |id: &String| examined.decided.get(id).is_some_and(Status::is_unusable);
    let ids = twin.coded().map(|exercise| exercise.id.clone());
    let broken: Vec<String> = ids.filter(is_unusable).collect();
    if !broken.is_empty() {
        let text = format!(
            "{}: not used in this run, the reference stands in. Why: cargo course check {number}",
            broken.join(", ")
        );
        lab::term::note(&Page::of_stderr().text(&text));
    }
    // A story that stops for the reader has no limit: the reader ends it.
    let is_for_machines = arguments.iter().any(|argument| argument == "--json");
    let waits = std::io::stdin().is_terminal() && !arguments.iter().any(|argument| argument == "--no-pause");
    let limit = Some(LIMIT).filter(|_| is_for_machines || !waits);
    let what = format!("the story of lesson {number} on your code");
    let package = twin.package();
    let story = programs.program(&package).unwrap_or(Path::new("the lesson's story"));
    let status = finish(course, Command::new(story).args(arguments), limit, &what)?;
    // One document on stdout is one document.
    let ids = written(&twin, &broken);
    let costs = programs.program(&format!("{package}-costs"));
    let Some(costs) = costs.filter(|_| status.success()) else {
        return Ok(status);
    };
    if is_for_machines || ids.is_empty() {
        return Ok(status);
    }
    let folder = course.root.join("target/course").join(format!("lesson{number}"));
    let mut race = Command::new(costs);
    let what = format!("the race of {}", ids.join(", "));
    finish(
        course,
        race.arg("race").arg(folder).arg(ids.join(",")),
        Some(LIMIT),
        &what,
    )
}

/// Waits for a program on the reader's terminal. `what` it is for the error of one that does not end.
fn finish(
    course: &Course,
    command: &mut Command,
    limit: Option<Duration>,
    what: &str,
) -> Result<ExitStatus, CourseError> {
    let status = child::run_shown(command, limit).map_err(|error| no_cargo(course, error))?;
    status.ok_or_else(|| CourseError::NotNow {
        problem: format!("{what} did not end within {} seconds", LIMIT.as_secs()),
        action: "`cargo course check` runs each exercise alone and names the one that hangs".to_owned(),
    })
}

/// Ids of the exercises that run on the learner's code.
fn written(twin: &Twin, broken: &[String]) -> Vec<String> {
    let mut ids = Vec::new();
    for file in &twin.files {
        let text = source::read(&file.learners).unwrap_or_default();
        let parsed = functions::parse(&text).unwrap_or_default();
        let is_written = |one: &&Exercise| {
            let mine = parsed.function(one.function_name());
            mine.is_some_and(|mine| !source::is_unwritten(mine, one)) && !broken.contains(&one.id)
        };
        ids.extend(file.exercises.iter().filter(is_written).map(|one| one.id.clone()));
    }
    ids
}
