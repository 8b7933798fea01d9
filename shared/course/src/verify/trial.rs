//! The built tests of one lesson, run once as they are and once for each switch.

use std::path::Path;
use std::time::Duration;

use super::Outcome;
use crate::check::groups::Ran;
use crate::check::{groups, words};
use crate::error::CourseError;
use crate::exercise::{Exercise, Kind};
use crate::twin::Twin;

/// How long one test of the reference may take.
const LIMIT: Duration = Duration::from_secs(120);

/// How long one test of a planted fault may take: some faults loop.
const FAULT_LIMIT: Duration = Duration::from_secs(30);

/// The built tests of one lesson.
pub struct Trial<'a> {
    /// The verify twin of the lesson.
    pub twin: &'a Twin,
    /// The program with its exercise tests.
    pub program: &'a Path,
    /// The text of its `tests/exercises.rs`.
    pub tests: String,
}

impl Trial<'_> {
    /// Runs everything and notes what is wrong.
    pub fn all(&self, outcome: &mut Outcome) -> Result<(), CourseError> {
        let problems = &mut outcome.problems;
        let start = format!("lesson {}", self.twin.number);
        for name in groups::list(self.program, &self.twin.folder)? {
            let group = name.split("::").next().unwrap_or_default();
            let is_known = self.twin.exercises.iter().any(|one| one.group == group);
            if group != "whole" && !is_known {
                problems.push(format!("{start}: the test {name} belongs to no exercise"));
            }
        }
        let reference = self.run("ex_", "", LIMIT)?;
        outcome.runs += 1;
        for failed in &reference.failed {
            problems.push(format!(
                "{start}: the reference fails {}: {}",
                failed.name, failed.message
            ));
        }
        for exercise in self.twin.coded() {
            let mut switches = vec![(format!("stub {}", exercise.id), "its stub")];
            match exercise.kind {
                Kind::Mend => switches.push((format!("fault {}", exercise.id), "the faulty body")),
                Kind::Catch => switches.push((format!("empty {}", exercise.id), "an empty answer")),
                _ => {}
            }
            for (switch, what) in switches {
                outcome.runs += 1;
                self.stands_alone(exercise, &switch, what, &mut outcome.problems)?;
            }
            self.faults(exercise, outcome)?;
        }
        Ok(())
    }

    /// With this switch the exercise's own group fails, and no other one does.
    fn stands_alone(
        &self,
        exercise: &Exercise,
        switch: &str,
        what: &str,
        problems: &mut Vec<String>,
    ) -> Result<(), CourseError> {
        let ran = self.run("ex_", switch, LIMIT)?;
        let own = format!("{}::", exercise.group);
        let (mine, others): (Vec<_>, Vec<_>) = ran.failed.iter().partition(|failed| failed.name.starts_with(&own));
        if mine.is_empty() {
            problems.push(format!(
                "{}: {} passes with {what}: its tests do not test it",
                exercise.id, exercise.group
            ));
        }
        for failed in others {
            problems.push(format!(
                "{}: with {what}, {} fails too: a group uses only its own function",
                exercise.id, failed.name
            ));
        }
        Ok(())
    }

    /// The fault of each wrong idea is named as that idea, and no other fault as any.
    fn faults(&self, exercise: &Exercise, outcome: &mut Outcome) -> Result<(), CourseError> {
        let id = &exercise.id;
        let reference = self.twin.file(exercise).marked(exercise)?.right;
        let ideas = exercise.ideas.iter().enumerate().map(|(index, idea)| {
            let what = format!("{id}: idea {:?}", idea.name);
            (format!("idea {id} {index}"), what, &idea.fault, Some(&idea.name))
        });
        let others = exercise.others.iter().enumerate().map(|(index, other)| {
            let what = format!("{id}: other fault {:?}", other.what);
            (format!("other {id} {index}"), what, &other.fault, None)
        });
        for (switch, what, fault, expected) in ideas.chain(others).filter(|(_, _, fault, _)| !fault.is_empty()) {
            if let Err(problem) = fault.planted(&reference) {
                outcome.problems.push(format!("{what}: {problem}"));
                continue;
            }
            outcome.runs += 1;
            let ran = self.run(&format!("{}::", exercise.group), &switch, FAULT_LIMIT)?;
            let failures = words::failures(self.twin, exercise, &ran, &self.tests);
            let ideas = words::ideas(exercise, &ran, &failures);
            let named: Vec<&String> = ideas.into_iter().map(|idea| &idea.name).collect();
            match (expected, named.as_slice()) {
                (Some(name), [only]) if *only == name => outcome.named += 1,
                (None, []) if !ran.failed.is_empty() => outcome.unnamed += 1,
                (None, []) => outcome.problems.push(format!("{what}: no test fails for it")),
                (_, []) => outcome
                    .problems
                    .push(format!("{what}: its own fault is not named; {}", summary(&ran))),
                (_, named) => outcome
                    .problems
                    .push(format!("{what}: it is named {named:?}; {}", summary(&ran))),
            }
        }
        Ok(())
    }

    fn run(&self, filter: &str, switch: &str, limit: Duration) -> Result<Ran, CourseError> {
        groups::run(self.program, &self.twin.folder, filter, switch, limit)
    }
}

/// What a run came to, for the author of an idea.
fn summary(ran: &Ran) -> String {
    let names = |names: &mut dyn Iterator<Item = &String>| {
        let names: Vec<&str> = names.map(|name| name.rsplit("::").next().unwrap_or_default()).collect();
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    };
    let message = ran.failed.first().map_or("", |failed| failed.message.as_str());
    format!(
        "fails: {}; passes: {}; first message: {:?}",
        names(&mut ran.failed.iter().map(|failed| &failed.name)),
        names(&mut ran.passed.iter()),
        message.chars().take(160).collect::<String>()
    )
}
