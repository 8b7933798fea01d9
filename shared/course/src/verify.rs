//! `cargo course verify`: is every exercise of every lesson what an exercise has to be?
//!
//! The definition: the reference passes; for each exercise k, a twin with only that body stubbed compiles, its group of tests fails, and
//! every other group passes. A mend exercise's faulty body is held to the same. A catch exercise's reference kills every planted
//! fault, and an empty answer does not pass. Hints, minutes, difficulty and the named wrong ideas are complete, and the chapter
//! names the exercise.
//!
//! # Why one build is enough
//! A twin for each of thirty exercises would be built thirty times. Instead there is one twin a lesson, in which every body is a
//! `todo!`, built twice:
//!
//! 1. Compiled with the ordinary `todo!`: every body is stubbed at once. A function's body is compiled from the signatures of other
//!    functions and never from their bodies, as long as no signature says `impl Trait` for its result or is `const` (checked here). So a
//!    crate in which all bodies are stubs compiles if and only if each stub compiles, and the reference's own build shows the
//!    same of the other bodies. Together: each mixture of stubs and reference bodies compiles, "only k stubbed" among them.
//! 2. Built with a `todo!` that puts a switch in front of the reference's body: `COURSE_SWITCH="stub 05.1"` makes the body of 05.1
//!    panic as its stub would, and leaves every other body the reference's. Nothing else tells this program from one that was
//!    built with only that stub, so the tests are run once for each exercise on one build.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::term::Tone;
use serde::Serialize;

use crate::check::groups::{self, Ran};
use crate::check::{build, words};
use crate::error::CourseError;
use crate::exercise::{Exercise, Kind};
use crate::lessons;
use crate::page::Page;
use crate::source::{self, functions};
use crate::tools::Course;
use crate::twin::Twin;

/// How long all groups of a lesson may take in one run.
const LIMIT: Duration = Duration::from_secs(120);

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Version of this form.
    pub schema: u32,
    /// How many exercises of each lesson were looked at.
    pub exercises: BTreeMap<String, usize>,
    /// How many times a lesson's tests were run.
    pub runs: usize,
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
        written_down(course, &twin, &mut outcome.problems)?;
        if twin.coded().next().is_some() {
            twin.make_files()?;
            twins.push(twin);
        }
    }
    for twin in &twins {
        twin.refresh(course)?;
    }
    build::build_all(course, &twins, true)?;
    let programs = build::build_all(course, &twins, false)?;
    for twin in &twins {
        let name = format!("{}-exercises", twin.package());
        let program = programs.iter().find(|(built, _)| *built == name);
        let Some((_, program)) = program else {
            outcome
                .problems
                .push(format!("lesson {}: its tests were not built", twin.number));
            continue;
        };
        Trial { twin, program }.all(&mut outcome)?;
    }
    Ok(outcome)
}

/// What can be seen without running anything.
fn written_down(
    course: &Course,
    twin: &Twin,
    problems: &mut Vec<String>,
) -> Result<(), CourseError> {
    let file = twin.shown(&twin.lesson.join("course.toml"));
    let tests = twin.tests()?;
    if tests.contains("proptest!") {
        problems.push(format!(
            "lesson {}: tests/exercises.rs uses proptest, whose regression files would land in the tracked tree",
            twin.number
        ));
    }
    let mut groups: Vec<&str> = Vec::new();
    for exercise in &twin.exercises {
        let mut missing = Vec::new();
        texts(exercise, &mut missing);
        if groups.contains(&exercise.group.as_str()) {
            missing.push(format!("the group {} stands twice", exercise.group));
        }
        groups.push(&exercise.group);
        let known = words::docs(&tests, &exercise.group);
        if known.is_empty() {
            missing.push(format!(
                "tests/exercises.rs has no tests in a group {:?}",
                exercise.group
            ));
        }
        for idea in &exercise.ideas {
            if exercise.kind != Kind::Predict && !known.iter().any(|(name, _)| *name == idea.test) {
                missing.push(format!(
                    "idea {:?}: there is no test {:?} in {}",
                    idea.name, idea.test, exercise.group
                ));
            }
        }
        if exercise.kind == Kind::Predict {
            question(exercise, &tests, &mut missing);
        } else if let Err(error) = signature(twin, exercise) {
            missing.push(error.to_string());
        }
        in_the_book(course, exercise, &mut missing);
        let start = format!("{file}:{}: {}", exercise.line, exercise.id);
        problems.extend(missing.iter().map(|problem| format!("{start}: {problem}")));
    }
    Ok(())
}

/// Hints, minutes, difficulty, names.
fn texts(exercise: &Exercise, missing: &mut Vec<String>) {
    let prefix = format!("ex_{}_", exercise.id.replace('.', "_"));
    if !exercise.group.starts_with(&prefix) {
        missing.push(format!(
            "expected a group {prefix}…, found {:?}",
            exercise.group
        ));
    }
    if exercise.hints.len() != 3 || exercise.hints.iter().any(|hint| hint.trim().is_empty()) {
        missing.push(format!("expected 3 hints, found {}", exercise.hints.len()));
    }
    if exercise.minutes == 0 {
        missing.push("`minutes` is missing".to_owned());
    }
    if !(1..=3).contains(&exercise.difficulty) {
        missing.push(format!(
            "expected a difficulty of 1 to 3, found {}",
            exercise.difficulty
        ));
    }
    if exercise.learned.trim().is_empty() {
        missing.push("`learned` is missing".to_owned());
    }
    for idea in &exercise.ideas {
        if idea.name.trim().is_empty() || idea.says.trim().is_empty() {
            missing.push("an idea has a name and says why it is wrong".to_owned());
        }
    }
}

/// Options with an answer each, and a test that computes the right one.
fn question(exercise: &Exercise, tests: &str, missing: &mut Vec<String>) {
    if exercise.because.trim().is_empty() {
        missing.push("`because` is missing".to_owned());
    }
    if exercise.answers.len() != exercise.options.len() {
        missing.push(format!(
            "expected {} answers, one for each option, found {}",
            exercise.options.len(),
            exercise.answers.len()
        ));
    }
    for (index, answer) in exercise.answers.iter().enumerate() {
        if answer.trim().is_empty() != (index == exercise.answer) {
            missing.push(format!(
                "answer {index}: each wrong option has a text and the right one none"
            ));
        }
    }
    let right = &exercise.options[exercise.answer];
    if !words::knows_the_answer(tests, exercise) {
        missing.push(format!(
            "{} neither reads course.toml nor asserts {right:?}",
            exercise.group
        ));
    }
}

/// A function whose body can be exchanged: `pub`, not `const`, its result no `impl Trait`, nothing behind the closing anchor.
fn signature(twin: &Twin, exercise: &Exercise) -> Result<(), CourseError> {
    let path = twin.tracked_file_of(exercise)?;
    let (text, shown) = (source::read(&path)?, twin.shown(&path));
    let marked = source::marked(twin, exercise)?;
    let parsed = source::parse(&text, &shown)?;
    let wrong = |problem: String| CourseError::Marks {
        path: format!("{shown}:{}", marked.first_line),
        problem,
    };
    let name = exercise.function_name();
    let Some(function) = parsed.function(name) else {
        return Err(wrong(format!("there is no function {name}")));
    };
    let (first, last) = function.lines;
    if marked.first_line <= first || marked.last_line >= last {
        return Err(wrong(format!("the anchors do not stand inside {name}")));
    }
    let behind = text
        .lines()
        .skip(marked.last_line)
        .take(last - marked.last_line);
    if behind.map(str::trim).collect::<String>() != "}" {
        return Err(wrong(
            "only the closing brace may stand behind the closing anchor".to_owned(),
        ));
    }
    let result = function
        .signature
        .rsplit_once(") ->")
        .map_or("", |(_, result)| result);
    if !function.signature.starts_with("pub fn") || functions::mentions(result, "impl") {
        return Err(wrong(format!(
            "expected a `pub fn` without `impl Trait` in its result, found `{}`",
            function.signature
        )));
    }
    Ok(())
}

/// The chapter names the exercise.
fn in_the_book(course: &Course, exercise: &Exercise, missing: &mut Vec<String>) {
    let page = exercise.page.split('#').next().unwrap_or_default();
    match std::fs::read_to_string(course.root.join(page)) {
        Ok(text) if names(&text, &exercise.id) => {}
        Ok(_) => missing.push(format!("{page} does not name it")),
        Err(_) => missing.push(format!("there is no page {page}")),
    }
}

/// Whether the text has this id, not as the beginning of a longer one.
fn names(text: &str, id: &str) -> bool {
    text.match_indices(id).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + id.len()..].chars().next();
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        !is_digit(before) && !is_digit(after)
    })
}

/// The built tests of one lesson.
struct Trial<'a> {
    twin: &'a Twin,
    program: &'a PathBuf,
}

impl Trial<'_> {
    fn all(&self, outcome: &mut Outcome) -> Result<(), CourseError> {
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
        if !ran
            .failed
            .iter()
            .any(|failed| failed.name.starts_with(&own))
        {
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
            problems.push(format!(
                "{}: with {what}, {} fails too: a group uses only its own function",
                exercise.id, failed.name
            ));
        }
        Ok(())
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

/// The outcome as a page.
pub fn render(outcome: &Outcome, page: &Page) -> String {
    let mut out = String::new();
    for problem in &outcome.problems {
        out += &page.paint(Tone::Bad, &page.text(problem));
    }
    let num_exercises: usize = outcome.exercises.values().sum();
    let summary = format!(
        "{num_exercises} exercises in {} lessons, {} runs of their tests: {}",
        outcome.exercises.len(),
        outcome.runs,
        match outcome.problems.len() {
            0 => "every one is as it should be".to_owned(),
            1 => "1 problem".to_owned(),
            n => format!("{n} problems"),
        }
    );
    out + &page.text(&summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_not_the_beginning_of_another() {
        assert!(names("{{#exercise 05.1}}", "05.1"));
        assert!(!names("{{#exercise 05.12}} 105.1", "05.1"));
    }
}
