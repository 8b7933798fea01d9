//! The command line of `cargo course`.

use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};

use clap::FromArgMatches;
use course::check::{self, Selection};
use course::child;
use course::cli::{self, Args, Command, DataCommand};
use course::data::get::Got;
use course::error::CourseError;
use course::exercise::{self, Kind};
use course::list::progress::{Counts, current_lesson};
use course::page::Page;
use course::results::Origin;
use course::state::{State, Status};
use course::tools::Course;
use course::{book, charts, claims, data, diff, doctor, faults, hint, lessons, list, pack, predict, report};
use course::{reset, run, skip, solution, start, verify, watch};
use lab::outln;
use lab::term::{self, Tone};
use serde::Serialize;

type Outcome = Result<ExitCode, CourseError>;

fn main() -> ExitCode {
    child::end_with_us(false);
    let args = cli::command().try_get_matches();
    let args: Args = lab::args::parsed(args.and_then(|found| Args::from_arg_matches(&found)));
    match dispatch(&Course::from_env(), args.command) {
        Ok(code) => code,
        Err(error) => {
            let page = Page::of_stderr();
            let text = page.text(&format!("error: {}", lab::foreign::escaped(&error.to_string())));
            lab::term::note(&page.paint(Tone::Bad, &text));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(course: &Course, command: Command) -> Outcome {
    let page = &Page::of_stdout();
    match command {
        Command::List { lesson: None, json } => show_list(course, json, page),
        Command::List {
            lesson: Some(lesson),
            json,
        } => show_lesson(course, &lesson, json, page),
        Command::Run { reference, words } => pass_on(run::run(course, &words[0], reference, &words[1..])?),
        Command::Book { open } => pass_on(book::run(course, open)?),
        Command::Charts => say(charts::render(course, page)?),
        Command::Claims { json, latest } => show_claims(course, json, latest, page),
        Command::Start { lesson, build } => {
            let text = start::start(course, &lesson, page)?;
            if build {
                check::warm(course, &lessons::find(course, &lesson)?)?;
            }
            say(text)
        }
        Command::Check { what, json } => show_check(course, what, json, page),
        Command::Watch { lesson } => {
            let number = match lesson {
                Some(asked) => lessons::find(course, &asked)?,
                None => current_lesson(course)?,
            };
            watch::watch(course, &number, page)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Hint { exercise } => say(hint::next(course, &exercise, page)?),
        Command::Answer { exercise, option } => say(predict::answer(course, &exercise, option.as_deref(), page)?),
        Command::Solution { exercise, give_up } => say(solution::show(course, &exercise, give_up, page)?),
        Command::Diff { exercise, give_up } => say(diff::show(course, &exercise, give_up, page)?),
        Command::Skip { exercise, undo } => say(skip::skip(course, &exercise, undo, page)?),
        Command::Reset { what } => say(reset::reset(course, &what, page)?),
        Command::Report {
            folders,
            lesson,
            sums,
            json,
        } => {
            let lesson = lesson.map(|asked| lessons::find(course, &asked)).transpose()?;
            let learners = report::collect(course, &folders, lesson.as_deref())?;
            let value = serde_json::json!({ "schema": 2, "learners": learners });
            show(json, &value, || report::csv(&learners, sums));
            status(true)
        }
        Command::Pack { out, folder } => make_pack(course, out, folder, page),
        Command::Verify { lessons, json } => show_verify(course, &lessons, json, page),
        Command::Faults { lessons, json } => show_faults(course, &lessons, json, page),
        Command::Doctor { json } => show_doctor(course, json, page),
        Command::Data { command } => show_data(course, command.unwrap_or(DataCommand::List), page),
    }
}

fn say(text: String) -> Outcome {
    term::print(&text);
    Ok(ExitCode::SUCCESS)
}

/// The status of a program that was run for the reader.
fn pass_on(status: ExitStatus) -> Outcome {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

/// 0 when all is well, 1 when not.
fn status(well: bool) -> Outcome {
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show_list(course: &Course, json: bool, page: &Page) -> Outcome {
    let lessons = lessons::all(course)?;
    let state = State::load(course)?;
    // Exercises that can not be read are not counted: `list NN` says why.
    let counts = |number: &str| {
        let exercises = exercise::all(course, number).unwrap_or_default();
        Counts::of(&exercises, &state)
    };
    let good: Vec<_> = lessons.iter().flatten().collect();
    let done: Vec<_> = good.iter().map(|lesson| counts(&lesson.number)).collect();
    let errors: Vec<String> = lessons
        .iter()
        .filter_map(|lesson| Some(lesson.as_ref().err()?.to_string()))
        .collect();
    let value = serde_json::json!({ "schema": 1, "lessons": good, "exercises": done, "errors": errors });
    show(json, &value, || list::render(&lessons, &counts, page));
    status(errors.is_empty())
}

fn show_lesson(course: &Course, asked: &str, json: bool, page: &Page) -> Outcome {
    let number = lessons::find(course, asked)?;
    let lesson = lessons::one(course, &number)?;
    let exercises = exercise::all(course, &number)?;
    let state = State::load(course)?;
    let value = list::details_json(&lesson, &exercises, &state);
    show(json, &value, || list::details(&lesson, &exercises, &state, page));
    status(true)
}

fn show_claims(course: &Course, json: bool, latest: bool, page: &Page) -> Outcome {
    let origin = if latest { Origin::Latest } else { Origin::Recorded };
    let rows = claims::collect(course, origin)?;
    let value = serde_json::json!({ "schema": 1, "origin": origin.word(), "claims": rows });
    show(json, &value, || claims::render(&rows, origin, page));
    status(true)
}

fn show_check(course: &Course, what: Option<String>, json: bool, page: &Page) -> Outcome {
    let (lesson, ids) = match what {
        Some(asked) if asked.contains('.') => {
            let exercise = exercise::find(course, &asked)?;
            if exercise.kind == Kind::Predict && !json {
                predict::ask(course, &exercise, page)?;
                return status(State::load(course)?.progress(&exercise.id).status == Status::Passed);
            }
            (exercise.lesson().to_owned(), vec![exercise.id])
        }
        Some(asked) => (lessons::find(course, &asked)?, Vec::new()),
        None => (current_lesson(course)?, Vec::new()),
    };
    let before = State::load(course)?;
    let report = check::check(course, &Selection { lesson, ids })?;
    show(json, &report, || check::render::render(&report, &before, page));
    status(report.is_passed())
}

fn make_pack(course: &Course, out: Option<PathBuf>, folder: bool, page: &Page) -> Outcome {
    let out = out.unwrap_or_else(|| pack::default_place(course, folder));
    let kit = pack::pack(course, &out, folder, &mut |line| outln!("{line}"))?;
    say(page.text(&pack::told(course, &kit)))
}

fn numbers(course: &Course, asked: &[String]) -> Result<Vec<String>, CourseError> {
    asked.iter().map(|asked| lessons::find(course, asked)).collect()
}

fn show_faults(course: &Course, asked: &[String], json: bool, page: &Page) -> Outcome {
    let outcome = faults::faults(course, &numbers(course, asked)?)?;
    show(json, &outcome, || faults::render(&outcome, page));
    status(outcome.is_good())
}

fn show_verify(course: &Course, asked: &[String], json: bool, page: &Page) -> Outcome {
    let outcome = verify::verify(course, &numbers(course, asked)?)?;
    show(json, &outcome, || verify::render(&outcome, page));
    status(outcome.is_good())
}

fn show_doctor(course: &Course, json: bool, page: &Page) -> Outcome {
    let checks = doctor::examine(course);
    let is_well = !doctor::is_sick(&checks);
    let value = serde_json::json!({ "schema": 1, "ok": is_well, "checks": checks });
    show(json, &value, || doctor::render(&checks, page));
    status(is_well)
}

fn show_data(course: &Course, command: DataCommand, page: &Page) -> Outcome {
    match command {
        DataCommand::List => {
            let (manifest, models) = (data::manifest(course)?, data::models(course)?);
            term::print(&data::list::render(course, &manifest, &models, page));
        }
        DataCommand::Verify => {
            let report = data::verify::manifest(course)?;
            for file in &report.files {
                let word = if file.ok {
                    page.paint(Tone::Good, "ok     ")
                } else {
                    page.paint(Tone::Bad, "WRONG  ")
                };
                outln!("{word}data/{}", file.path);
                if let Some(problem) = file.problem.as_ref().filter(|_| !file.ok) {
                    term::print(&page.indented(problem, 7));
                }
            }
            if report.files.iter().any(|file| !file.ok) {
                term::print(
                    &page.text("Restore them with `git checkout data`; if git says that nothing changed, clone anew."),
                );
                return status(false);
            }
        }
        DataCommand::Get { name } => {
            let model = data::model(course, &name)?;
            let got = data::get::get(course, &model, &mut |line| outln!("{line}"))?;
            let how = if got == Got::Made {
                "is ready"
            } else {
                "was here already; to fetch it anew, delete its folder first"
            };
            term::print(&page.text(&format!("data/models/{name} {how}. Try it:")));
            outln!("  {}", model.trial());
        }
    }
    status(true)
}

/// Prints the value as JSON, or the page.
fn show(json: bool, value: &impl Serialize, page: impl FnOnce() -> String) {
    if json {
        let text = serde_json::to_string_pretty(value);
        outln!("{}", text.expect("what is printed has no keys that are not text"));
    } else {
        term::print(&page());
    }
}
