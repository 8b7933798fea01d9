//! `cargo course faults`: is each planted fault caught by the test that should catch it?
//!
//! A test that passes says little as long as nobody saw it fail. So a lesson lists faults that are easy to make and hard to see
//! (`lessons/NN-name/faults.toml`, see [`plan`]), each with the test that has to fail for it:
//!
//! 1. [`copies`]: the lesson is copied to `target/course/faults`, once as it is and once for each fault, with that fault planted.
//! 2. All copies are built by one call of cargo. They differ from the lesson in one crate, so that everything below it is shared, and
//!    they do not wait for each other.
//! 3. [`trial`]: the copy without a fault passes the tests named; then the copy with the fault fails its own.
//!
//! A fault whose text is no longer in the source is an error, so that the list stays true when the code changes.

pub mod copies;
mod manifests;
pub mod plan;
mod trial;

use lab::term::Tone;
use serde::Serialize;

use crate::check::build;
use crate::error::CourseError;
use crate::lessons;
use crate::page::Page;
use crate::tools::Course;
use copies::Copy;
use plan::Plan;

/// What became of a planted fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The test fails with the fault and passes without it.
    Caught {
        /// The tests that fail.
        by: Vec<String>,
        /// What the first one says.
        message: String,
    },
    /// Every test that was run passes with the fault in place.
    NotCaught,
    /// The program does not end with the fault in place, so that no test says what is wrong.
    Hangs {
        /// Seconds that were waited.
        seconds: u64,
    },
    /// There is nothing to try: the text is gone, the copy does not compile, the test is not there or fails anyway.
    Untried {
        /// Why.
        problem: String,
    },
}

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
    /// The test program and the filter that should catch it: `oracle some_name`.
    pub test: String,
    /// Its row in the table of the lesson's page.
    pub row: String,
    /// What became of it.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What was found.
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
        self.problems.is_empty() && self.num_caught() == self.faults.len()
    }

    fn num_caught(&self) -> usize {
        let is_caught = |found: &&Found| matches!(found.verdict, Verdict::Caught { .. });
        self.faults.iter().filter(is_caught).count()
    }
}

/// Plants the faults of these lessons (of all that list some for none), each alone.
///
/// # Errors
/// When a lesson's list is wrong or missing, or nothing can be built at all.
pub fn faults(course: &Course, numbers: &[String]) -> Result<Outcome, CourseError> {
    let mut outcome = Outcome {
        schema: 1,
        ..Outcome::default()
    };
    let plans = plans(course, numbers)?;
    for plan in &plans {
        outcome.problems.extend(plan.untold());
    }
    let copies: Vec<Copy> = plans.iter().flat_map(copies::of).collect();
    copies::write(course, &plans, &copies)?;
    let built = build::build_tests(course, &copies::workspace(course))?;
    for plan in &plans {
        outcome.faults.extend(trial::all(plan, &copies, &built)?);
    }
    // Each is linked with everything below the lesson: some fifty megabytes that no other command asks for.
    for (_, program) in &built.programs {
        let _ = std::fs::remove_file(program);
    }
    Ok(outcome)
}

fn plans(course: &Course, numbers: &[String]) -> Result<Vec<Plan>, CourseError> {
    let mut plans = Vec::new();
    for folder in lessons::folders(course)? {
        let number = lessons::number_of(&folder).unwrap_or_default();
        let is_asked = numbers.contains(&number);
        let is_meant = numbers.is_empty() && folder.join(plan::FILE).is_file();
        if is_asked || is_meant {
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

/// The outcome as a page: a table of faults, then what is wrong.
pub fn render(outcome: &Outcome, page: &Page) -> String {
    const WIDTHS: [usize; 2] = [6, 2];
    const AT: usize = 12;
    let told = "the fault, what is wrong, and the test that says so";
    let mut out = page.paint(Tone::Dim, &page.columns(&["caught", ""], &WIDTHS, told, AT));
    for found in &outcome.faults {
        let (tone, word, said) = match &found.verdict {
            Verdict::Caught { by, .. } => (Tone::Good, "yes", by[0].clone()),
            Verdict::NotCaught => (Tone::Bad, "NO", format!("{}: passes", found.test)),
            Verdict::Hangs { seconds } => {
                let said = format!("{}: did not end in {seconds} s", found.test);
                (Tone::Bad, "NO", said)
            }
            Verdict::Untried { problem } => (Tone::Bad, "-", problem.clone()),
        };
        out += &page.paint(tone, &page.columns(&[word, &found.lesson], &WIDTHS, &found.id, AT));
        out += &page.indented(&format!("{}\n{said}", found.what), AT);
    }
    for problem in &outcome.problems {
        out += "\n";
        out += &page.paint(Tone::Bad, &page.text(problem));
    }
    let (caught, all) = (outcome.num_caught(), outcome.faults.len());
    out + "\n" + &page.text(&format!("Caught: {caught} of {all}, each planted alone."))
}
