//! The built copies of one lesson: the tests without a fault, then each fault with its test.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::time::Duration;

use super::copies::{self, Copy};
use super::plan::{Fault, Plan};
use super::{Found, Verdict};
use crate::check::build::BuiltTests;
use crate::check::groups::{self, Ran};
use crate::error::CourseError;

/// How long the tests for one fault may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Tries every fault of a lesson.
///
/// # Errors
/// When a program can not be run.
pub fn all(plan: &Plan, copies: &[Copy], built: &BuiltTests) -> Result<Vec<Found>, CourseError> {
    let find = |id: &str| {
        let package = copies::package(plan, id);
        copies.iter().find(|copy| copy.package == package)
    };
    let whole = find("none").expect("each lesson has a copy without a fault");
    let mut found = Vec::new();
    // Several faults may name the same tests: without a fault these run once.
    let mut without: BTreeMap<(&str, &str), Result<(), String>> = BTreeMap::new();
    for fault in &plan.faults {
        let verdict = match (plan.planted(fault), find(&fault.id)) {
            (Err(problem), _) => Verdict::Untried { problem },
            (Ok(_), None) => unreachable!("what can be planted has a copy"),
            (Ok(_), Some(copy)) => {
                let tests = (fault.test.as_str(), fault.filter.as_str());
                let passes = match without.entry(tests) {
                    Entry::Occupied(known) => known.get().clone(),
                    Entry::Vacant(place) => place.insert(sound(plan, fault, whole, built)?).clone(),
                };
                match passes {
                    Err(problem) => Verdict::Untried { problem },
                    Ok(()) => tried(plan, fault, copy, built)?,
                }
            }
        };
        found.push(Found {
            lesson: plan.number.clone(),
            id: fault.id.clone(),
            what: fault.what.clone(),
            file: format!("{}/{}", plan.shown, fault.file.display()),
            test: format!("{} {}", fault.test, fault.filter).trim().to_owned(),
            row: plan.row(fault),
            verdict,
        });
    }
    Ok(found)
}

/// Without the fault the tests are there and pass.
fn sound(plan: &Plan, fault: &Fault, whole: &Copy, built: &BuiltTests) -> Result<Result<(), String>, CourseError> {
    let ran = match ran(plan, fault, whole, built)? {
        Ok(ran) => ran,
        Err(problem) => return Ok(Err(format!("without a fault: {problem}"))),
    };
    Ok(if let Some(failed) = ran.failed.first() {
        let said = first_line(&failed.message);
        Err(format!("{} fails without a fault: {said}", failed.name))
    } else if ran.passed.is_empty() {
        Err(format!("no test of {} has {:?} in its name", fault.test, fault.filter))
    } else {
        Ok(())
    })
}

/// With the fault at least one of them fails.
fn tried(plan: &Plan, fault: &Fault, copy: &Copy, built: &BuiltTests) -> Result<Verdict, CourseError> {
    let ran = match ran(plan, fault, copy, built)? {
        Ok(ran) => ran,
        Err(problem) => return Ok(Verdict::Untried { problem }),
    };
    Ok(match ran.failed.first() {
        _ if ran.late.is_some() => Verdict::Hangs {
            seconds: LIMIT.as_secs(),
        },
        None => Verdict::NotCaught,
        Some(first) => Verdict::Caught {
            message: first_line(&first.message),
            by: ran
                .failed
                .iter()
                .map(|failed| format!("{}: {}", fault.test, failed.name))
                .collect(),
        },
    })
}

fn ran(plan: &Plan, fault: &Fault, copy: &Copy, built: &BuiltTests) -> Result<Result<Ran, String>, CourseError> {
    let target = copy.target(&fault.test);
    let program = built.programs.iter().find(|(name, _)| *name == target);
    let Some((_, program)) = program else {
        return Ok(Err(refused(copy, &target, built)));
    };
    groups::run(program, &plan.lesson, &fault.filter, "", LIMIT).map(Ok)
}

/// Why a copy was not built.
fn refused(copy: &Copy, target: &str, built: &BuiltTests) -> String {
    let is_inside = |path: &Path| path.components().any(|part| part.as_os_str() == copy.package.as_str());
    let refusal = built
        .refusals
        .iter()
        .find(|refusal| refusal.target == target || refusal.places.iter().any(|(path, _)| is_inside(path)));
    let said = refusal.map_or("cargo did not build it", |refusal| &refusal.message);
    format!("it does not compile: {said}")
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}
