//! `cargo course run NN …`: a lesson's story, on the learner's code once the lesson was started, and then the race: yours against
//! the reference.

use std::process::{Command, ExitStatus};

use crate::check::build::Goal;
use crate::check::examine::Examined;
use crate::check::{self, Status};
use crate::data::verify::no_cargo;
use crate::error::CourseError;
use crate::lessons;
use crate::page::Page;
use crate::source;
use crate::state::State;
use crate::tools::Course;
use crate::twin::Twin;

/// Runs the lesson with the reader's terminal and arguments: the twin where there is one, unless `reference` is asked for.
///
/// # Errors
/// When there is no such lesson, no cargo, or the learner's code does not compile.
pub fn run(course: &Course, asked: &str, reference: bool, arguments: &[String]) -> Result<ExitStatus, CourseError> {
    let number = lessons::find(course, asked)?;
    let twin = match Twin::open(course, &number) {
        Ok(twin) if !reference => twin,
        Err(CourseError::NotStarted { .. }) | Ok(_) => {
            return finish(course, course.lesson(&number).args(arguments));
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
        eprint!("{}", Page::of_stderr().text(&text));
    }
    let status = finish(course, Command::new(&programs.story).args(arguments))?;
    // One document on stdout is one document.
    let is_for_machines = arguments.iter().any(|argument| argument == "--json");
    let ids = written(&twin, &broken)?;
    let Some(costs) = programs.costs.filter(|_| status.success()) else {
        return Ok(status);
    };
    if is_for_machines || ids.is_empty() {
        return Ok(status);
    }
    let folder = course.root.join("target/course").join(format!("lesson{number}"));
    let mut race = Command::new(costs);
    finish(course, race.arg("race").arg(folder).arg(ids.join(",")))
}

fn finish(course: &Course, command: &mut Command) -> Result<ExitStatus, CourseError> {
    command.status().map_err(|error| no_cargo(course, error))
}

/// Ids of the exercises that run on the learner's code.
fn written(twin: &Twin, broken: &[String]) -> Result<Vec<String>, CourseError> {
    let mut ids = Vec::new();
    for exercise in twin.coded() {
        let path = twin.file_of(exercise)?;
        let Ok(text) = source::read(&path) else {
            continue;
        };
        let Ok(parsed) = source::parse(&text, &twin.shown(&path)) else {
            continue;
        };
        let function = parsed.function(exercise.function_name());
        if function.is_some_and(|mine| !source::is_unwritten(mine, exercise)) && !broken.contains(&exercise.id) {
            ids.push(exercise.id.clone());
        }
    }
    Ok(ids)
}
