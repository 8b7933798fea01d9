//! `cargo course verify`: is every exercise of every lesson what an exercise has to be?
//!
//! The definition: the reference passes; for each exercise k, with only that body stubbed, its group of tests fails and
//! every other group passes. A mend exercise's faulty body is held to the same. A catch exercise's reference kills
//! every planted fault, and an empty answer does not pass. Hints, minutes, difficulty and the named wrong ideas are
//! complete, and the chapter names the exercise. The fault of each wrong idea is planted, and the idea must be named
//! for it; other faults are planted, which must fail and be named as none.
//!
//! # Why one build is enough
//! A twin for each of thirty exercises would be built thirty times. Instead there is one twin a lesson, in which every
//! body begins with a switch: `COURSE_SWITCH="stub 05.1"` makes the body of 05.1 panic as the learner's does before it
//! is written, and leaves every other body the reference's. Nothing else tells this program from one that was built
//! with only that stub. Planted faults are cases of the same switch. That each body compiles for itself is a matter of
//! signatures: none says `impl Trait` for its result or is `const` (checked here).

mod trial;
mod written;

use std::collections::BTreeMap;

use lab::term::Tone;
use serde::Serialize;

use crate::check::build;
use crate::error::CourseError;
use crate::lessons;
use crate::page::Page;
use crate::tools::Course;
use crate::twin::Twin;
use trial::Trial;

/// What `cargo course verify` found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Version of the form of this outcome.
    pub schema: u32,
    /// Number of exercises of each lesson that were looked at.
    pub exercises: BTreeMap<String, usize>,
    /// Number of runs of a lesson's tests.
    pub runs: usize,
    /// Number of wrong ideas whose planted fault was named as that idea.
    pub named: usize,
    /// Number of other planted faults that failed and were named as no idea.
    pub unnamed: usize,
    /// What is wrong, each with its file or exercise.
    pub problems: Vec<String>,
}

impl Outcome {
    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Verifies these lessons (all for none).
///
/// # Errors
/// When a lesson can not be read or built at all.
pub fn verify(course: &Course, numbers: &[String]) -> Result<Outcome, CourseError> {
    let mut outcome = Outcome {
        schema: 1,
        ..Outcome::default()
    };
    let mut twins = Vec::new();
    for folder in lessons::folders(course)? {
        let number = lessons::number_of(&folder).unwrap_or_default();
        if !numbers.is_empty() && !numbers.contains(&number) {
            continue;
        }
        let twin = Twin::for_verify(course, &number)?;
        outcome.exercises.insert(number, twin.exercises.len());
        written::all(course, &twin, &mut outcome.problems)?;
        if twin.coded().next().is_some() {
            twin.make_files()?;
            twins.push(twin);
        }
    }
    for twin in &twins {
        twin.refresh(course)?;
    }
    let built = build::build_all(course, &twins)?;
    for twin in &twins {
        let Some(program) = built.program(&format!("{}-exercises", twin.package())) else {
            let problem = format!("lesson {}: its tests were not built", twin.number);
            outcome.problems.push(problem);
            continue;
        };
        let tests = twin.tests()?;
        Trial { twin, program, tests }.all(&mut outcome)?;
    }
    Ok(outcome)
}

/// The outcome as a page.
pub fn render(outcome: &Outcome, page: &Page) -> String {
    let mut out = String::new();
    for problem in &outcome.problems {
        out += &page.paint(Tone::Bad, &page.text(problem));
    }
    let num_exercises: usize = outcome.exercises.values().sum();
    let summary = format!(
        "{num_exercises} exercises in {} lessons, {} runs of their tests, {} wrong ideas named, {} other faults named as none: {}",
        outcome.exercises.len(),
        outcome.runs,
        outcome.named,
        outcome.unnamed,
        match outcome.problems.len() {
            0 => "every one is as it should be".to_owned(),
            1 => "1 problem".to_owned(),
            n => format!("{n} problems"),
        }
    );
    out + &page.text(&summary)
}
