//! The built tests of one lesson, run once as they are and once for each switch.

use std::path::Path;
use std::time::Duration;

use super::Outcome;
use crate::check::groups::{self, Ran};
use crate::error::CourseError;
use crate::exercise::{Exercise, Kind};
use crate::twin::Twin;

/// How long all groups of a lesson may take in one run.
const LIMIT: Duration = Duration::from_secs(120);

/// The built tests of one lesson.
pub struct Trial<'a> {
    /// The lesson.
    pub twin: &'a Twin,
    /// Its tests.
    pub program: &'a Path,
}

impl Trial<'_> {
    /// Runs everything and notes what is wrong.
    ///
    /// # Errors
    /// When the program can not be run.
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
        let reference = self.run("")?;
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
        let ran = self.run(switch)?;
        let own = format!("{}::", exercise.group);
        if !ran.failed.iter().any(|failed| failed.name.starts_with(&own)) {
            problems.push(format!(
                "{}: {} passes with {what}: its tests do not test it",
                exercise.id, exercise.group
            ));
        }
        let others = ran
            .failed
            .iter()
            .filter(|failed| !failed.name.starts_with(&own) && !failed.name.starts_with("whole::"));
        for failed in others {
            if self.passes_alone(&failed.name, switch)? {
                continue;
            }
            problems.push(format!(
                "{}: with {what}, {} fails too: a group uses only its own function",
                exercise.id, failed.name
            ));
        }
        Ok(())
    }

    /// Whether a test passes when it is the only one. All groups at once share a process: a test that counts allocations may see those of a
    /// neighbour which panics, and then says nothing about its own function.
    fn passes_alone(&self, test: &str, switch: &str) -> Result<bool, CourseError> {
        let ran = groups::run(self.program, &self.twin.folder, test, switch, LIMIT)?;
        Ok(ran.failed.is_empty() && !ran.passed.is_empty())
    }

    /// All groups at once; one by one when the program did not live to its end.
    fn run(&self, switch: &str) -> Result<Ran, CourseError> {
        let folder: &Path = &self.twin.folder;
        let ran = groups::run(self.program, folder, "ex_", switch, LIMIT)?;
        let ended_early = ran.is_late
            || ran
                .failed
                .iter()
                .any(|failed| failed.message.starts_with("it ended the whole program"));
        if !ended_early {
            return Ok(ran);
        }
        let mut all = Ran::default();
        for exercise in &self.twin.exercises {
            let filter = format!("{}::", exercise.group);
            let ran = groups::run(self.program, folder, &filter, switch, LIMIT)?;
            all.passed.extend(ran.passed);
            all.failed.extend(ran.failed);
        }
        Ok(all)
    }
}
