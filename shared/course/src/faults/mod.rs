//! `cargo course faults`: is each planted fault caught by the test that should catch it?
//!
//! A test that passes says little until it has been seen to fail. A lesson therefore lists faults that are easy to make
//! and hard to see (`lessons/NN-name/faults.toml`, see [`plan`]), each with the test that has to fail for it:
//!
//! 1. [`plant`]: a function with faults keeps its own body and gets one more for each fault. The variable
//!    `COURSE_SWITCH` chooses when the tests run. So a lesson is compiled once, however many faults it has; only a
//!    fault outside of a function needs a build of its own.
//! 2. [`copies`]: the planted lessons are written to `target/course/faults`, and one call of cargo builds their tests.
//! 3. Without a fault, the tests named in the list pass; with each fault, its test fails.
//!
//! A fault whose text is no longer in the source is an error, so that the list stays true when the code changes.

mod copies;
pub mod plan;
mod plant;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lab::term::Tone;
use serde::Serialize;

use crate::check::build::{self, Built};
use crate::check::groups::{self, Failed};
use crate::error::CourseError;
use crate::lessons;
use crate::page::Page;
use crate::tools::Course;
use copies::Copy;
use plan::{Fault, Plan};

/// How long one test may take. The slowest takes some ten seconds without optimisation; a machine may be busy.
const LIMIT: Duration = Duration::from_secs(180);

/// One planted fault and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The lesson: `06`.
    pub lesson: String,
    /// The fault's id.
    pub id: String,
    /// What is wrong with the planted code.
    pub what: String,
    /// The file that it is planted in, as typed in the root.
    pub file: String,
    /// The test program and the filter that should catch it: `suite oracle::some_name`.
    pub test: String,
    /// Its row in the table of the lesson's page.
    pub row: String,
    /// Whether the test fails with the fault and passes without it.
    pub caught: bool,
    /// The first test that fails, with its message; or why the fault was not caught or not tried.
    pub told: String,
}

/// The faults of all lessons that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Version of this form.
    pub schema: u32,
    /// The faults, in the order of the lessons' files.
    pub faults: Vec<Found>,
    /// What is wrong beside single faults.
    pub problems: Vec<String>,
}

impl Outcome {
    /// Whether every fault was caught.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty() && self.faults.iter().all(|found| found.caught)
    }
}

/// Plants the faults of these lessons (of all that list some, when none is named), each alone.
///
/// # Errors
/// When a lesson's list is wrong or missing, or nothing can be built at all.
pub fn faults(course: &Course, numbers: &[String]) -> Result<Outcome, CourseError> {
    let plans = plans(course, numbers)?;
    let (copies, built) = build(course, &plans)?;
    let mut outcome = Outcome {
        schema: 2,
        faults: Vec::new(),
        problems: plans.iter().filter_map(Plan::untold).collect(),
    };
    for plan in &plans {
        let mut trial = Trial {
            copies: copies.iter().filter(|copy| copy.plan.number == plan.number).collect(),
            built: &built,
            sound: BTreeMap::new(),
        };
        for fault in &plan.faults {
            let told = plan.source(fault).and_then(|_| trial.caught(fault));
            outcome.faults.push(Found {
                lesson: plan.number.clone(),
                id: fault.id.clone(),
                what: fault.what.clone(),
                file: format!("{}/{}", plan.shown, fault.file.display()),
                test: format!("{} {}", fault.test, fault.filter).trim().to_owned(),
                row: plan.row(fault),
                caught: told.is_ok(),
                told: told.unwrap_or_else(|problem| problem),
            });
        }
    }
    // Each program contains everything below its lesson, some fifty megabytes that no other command uses.
    for (_, program) in &built.programs {
        let _ = std::fs::remove_file(program);
    }
    Ok(outcome)
}

fn plans(course: &Course, numbers: &[String]) -> Result<Vec<Plan>, CourseError> {
    let mut plans = Vec::new();
    for folder in lessons::folders(course)? {
        let number = lessons::number_of(&folder).unwrap_or_default();
        let is_meant = numbers.is_empty() && folder.join(plan::FILE).is_file();
        if is_meant || numbers.contains(&number) {
            plans.push(Plan::read(course, &number, &folder)?);
        }
    }
    if plans.is_empty() {
        return Err(CourseError::NotNow {
            problem: format!("no lesson has a list of faults, {}", plan::FILE),
            action: "restore the lessons with git".to_owned(),
        });
    }
    Ok(plans)
}

/// Builds the copies. When a copy with several faults does not compile, each of them is built alone, to see which one
/// is wrong.
fn build<'a>(course: &Course, plans: &'a [Plan]) -> Result<(Vec<Copy<'a>>, Built), CourseError> {
    let mut apart = BTreeSet::new();
    loop {
        let copies: Vec<Copy> = plans.iter().flat_map(|plan| copies::of(plan, &apart)).collect();
        copies::write(course, &copies)?;
        let built = build::build_tests(course, &copies::workspace(course))?;
        let broken = copies
            .iter()
            .filter(|copy| copy.faults.len() > 1 && !copy.is_whole(&built));
        let broken: Vec<String> = broken.map(|copy| copy.plan.number.clone()).collect();
        if broken.is_empty() {
            return Ok((copies, built));
        }
        apart.extend(broken);
    }
}

/// The built copies of one lesson.
struct Trial<'a> {
    copies: Vec<&'a Copy<'a>>,
    built: &'a Built,
    /// Whether the tests of a program and a filter pass without a fault: several faults may name the same.
    sound: BTreeMap<(&'a str, &'a str), Result<(), String>>,
}

impl<'a> Trial<'a> {
    /// What the test says that catches the fault; else why it is not caught.
    fn caught(&mut self, fault: &'a Fault) -> Result<String, String> {
        let tests = (fault.test.as_str(), fault.filter.as_str());
        if !self.sound.contains_key(&tests) {
            self.sound.insert(tests, self.sound(fault));
        }
        self.sound[&tests].clone()?;
        let copy = self.copies.iter().find(|copy| copy.holds(fault));
        let (failed, _) = run(copy.expect("each fault has a copy"), fault, &fault.id, self.built)?;
        let first = failed.first().ok_or_else(|| format!("{}: passes", tests.0))?;
        Ok(format!("{}: {}", tests.0, told(first)))
    }

    fn sound(&self, fault: &Fault) -> Result<(), String> {
        let run = run(self.copies[0], fault, "", self.built);
        match run.map_err(|problem| format!("without a fault: {problem}"))? {
            (failed, _) if !failed.is_empty() => Err(format!("fails without a fault: {}", told(&failed[0]))),
            (_, 0) => Err(format!("no test of {} has {:?} in its name", fault.test, fault.filter)),
            _ => Ok(()),
        }
    }
}

/// The tests that fail, and the number of those that pass.
fn run(copy: &Copy, fault: &Fault, switch: &str, built: &Built) -> Result<(Vec<Failed>, usize), String> {
    let program = copy.program(&fault.test, built)?;
    let ran = groups::run(program, &copy.plan.lesson, &fault.filter, switch, LIMIT);
    let ran = ran.map_err(|error| error.to_string())?;
    match ran.late {
        Some(name) => Err(format!("{}: {name} did not end in {} s", fault.test, LIMIT.as_secs())),
        None => Ok((ran.failed, ran.passed.len())),
    }
}

fn told(failed: &Failed) -> String {
    format!("{}: {}", failed.name, failed.message.lines().next().unwrap_or_default())
}

/// The outcome as a page: a table of faults, their number, then what is wrong.
pub fn render(outcome: &Outcome, page: &Page) -> String {
    const WIDTHS: [usize; 2] = [6, 2];
    const AT: usize = 12;
    let header = "the fault, what is wrong, and the test that says so";
    let mut out = page.paint(Tone::Dim, &page.columns(&["caught", ""], &WIDTHS, header, AT));
    for found in &outcome.faults {
        let (tone, word) = if found.caught {
            (Tone::Good, "yes")
        } else {
            (Tone::Bad, "NO")
        };
        out += &page.paint(tone, &page.columns(&[word, &found.lesson], &WIDTHS, &found.id, AT));
        out += &page.indented(&format!("{}\n{}", found.what, found.told), AT);
    }
    let all = outcome.faults.len();
    let left: Vec<&Found> = outcome.faults.iter().filter(|found| !found.caught).collect();
    out += "\n";
    out += &page.text(&format!("Caught: {} of {all}, each planted alone.", all - left.len()));
    if !left.is_empty() {
        // Again at the end: it is the part of a long log that is kept.
        let names: Vec<String> = left
            .iter()
            .map(|found| format!("{} {}", found.lesson, found.id))
            .collect();
        out += &page.paint(Tone::Bad, &page.text(&format!("Not caught: {}.", names.join(", "))));
    }
    for problem in &outcome.problems {
        out += "\n";
        out += &page.paint(Tone::Bad, &page.text(problem));
    }
    out
}
