//! What can be seen without running anything: texts, groups, wrong ideas, marks, the page in the book.

use crate::check::words;
use crate::error::CourseError;
use crate::exercise::{self, Exercise, Kind, Prediction};
use crate::source::{self, functions};
use crate::tools::Course;
use crate::twin::Twin;

/// What can be seen without running anything.
pub fn all(course: &Course, twin: &Twin, problems: &mut Vec<String>) -> Result<(), CourseError> {
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
            for test in idea.fails.iter().chain(&idea.passes) {
                if !known.iter().any(|(name, _)| name == test) {
                    missing.push(format!(
                        "idea {:?}: there is no test {test:?} in {}",
                        idea.name, exercise.group
                    ));
                }
            }
        }
        faults(exercise, &mut missing);
        if exercise.kind == Kind::Predict {
            question(exercise, &tests, &mut missing);
        } else if let Err(error) = signature(twin, exercise) {
            missing.push(error.to_string());
        }
        in_the_book(course, exercise, &mut missing);
        let start = format!("{file}:{}: {}", exercise.line, exercise.id);
        problems.extend(missing.iter().map(|problem| format!("{start}: {problem}")));
    }
    let predictions = exercise::tasks(course, &twin.number)?.predictions;
    for (index, one) in predictions.iter().enumerate() {
        let mut missing = Vec::new();
        if one.id.is_empty() || predictions[..index].iter().any(|known| known.id == one.id) {
            missing.push("expected an `id` of its own".to_owned());
        }
        prediction(one, &mut missing);
        let start = format!("{file}:{}: prediction {}", one.line, one.id);
        problems.extend(missing.iter().map(|problem| format!("{start}: {problem}")));
    }
    Ok(())
}

/// Hints, minutes, difficulty, names.
fn texts(exercise: &Exercise, missing: &mut Vec<String>) {
    let prefix = format!("ex_{}_", exercise.id.replace('.', "_"));
    if !exercise.group.starts_with(&prefix) {
        missing.push(format!("expected a group {prefix}…, found {:?}", exercise.group));
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

/// A fault for each idea, and at least two ordinary bugs: what a catch exercise asks for may not be expressed as a
/// body.
fn faults(exercise: &Exercise, missing: &mut Vec<String>) {
    for idea in &exercise.ideas {
        if idea.fails.is_empty() {
            missing.push(format!("idea {:?}: `fails` names no test", idea.name));
        }
        if idea.fault.is_empty() && exercise.kind != Kind::Catch {
            missing.push(format!("idea {:?}: expected a `fault` or a `body` to plant", idea.name));
        }
    }
    if matches!(exercise.kind, Kind::Write | Kind::Mend) && exercise.others.len() < 2 {
        missing.push(format!(
            "expected at least two `others`, ordinary bugs that are none of the ideas, found {}",
            exercise.others.len()
        ));
    }
    for other in &exercise.others {
        if other.what.trim().is_empty() || other.fault.is_empty() {
            missing.push("each of `others` has a `what`, and a `fault` or a `body`".to_owned());
        }
    }
}

/// A question of the story: its texts, and either options or a number's unit and factor.
fn prediction(prediction: &Prediction, missing: &mut Vec<String>) {
    for (key, text) in [("question", &prediction.question), ("because", &prediction.because)] {
        if text.trim().is_empty() {
            missing.push(format!("`{key}` is missing"));
        }
    }
    if prediction.options.is_empty() {
        if prediction.unit.is_empty() || prediction.within <= 1.0 {
            missing.push("expected `options`, or a `unit` and a `within` above 1".to_owned());
        }
        return;
    }
    if prediction.options.len() < 2 {
        missing.push("expected at least two `options`".to_owned());
    }
    let right = prediction.answer.map(|index| index as usize);
    answers(&prediction.options, right, &prediction.answers, missing);
}

/// One text for each wrong option, and none for the right one. Where the right one is measured, each may be wrong.
fn answers(options: &[String], right: Option<usize>, answers: &[String], missing: &mut Vec<String>) {
    if answers.len() != options.len() {
        missing.push(format!(
            "expected {} answers, one for each option, found {}",
            options.len(),
            answers.len()
        ));
    }
    if right.is_some_and(|right| right >= options.len()) {
        missing.push(format!("expected an `answer` below {}", options.len()));
    }
    for (index, answer) in answers.iter().enumerate() {
        if answer.trim().is_empty() != (right == Some(index)) {
            missing.push(format!(
                "answer {index}: each wrong option has a text and the right one none"
            ));
        }
    }
}

/// Options with an answer each, and a test that computes the right one.
fn question(exercise: &Exercise, tests: &str, missing: &mut Vec<String>) {
    if exercise.because.trim().is_empty() {
        missing.push("`because` is missing".to_owned());
    }
    answers(&exercise.options, exercise.answer, &exercise.answers, missing);
    let right = exercise.right_option();
    if !words::knows_the_answer(tests, exercise) {
        missing.push(format!(
            "{} neither reads course.toml nor asserts {right:?}",
            exercise.group
        ));
    }
}

/// A function whose body can be exchanged: `pub`, not `const`, its result no `impl Trait`, nothing behind the closing
/// anchor.
fn signature(twin: &Twin, exercise: &Exercise) -> Result<(), CourseError> {
    let file = twin.file(exercise);
    let (text, shown) = (file.tracked_text()?, &file.tracked_shown);
    let marked = file.marked(exercise)?;
    let parsed = source::parse(&text, shown)?;
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
    let behind = text.lines().skip(marked.last_line).take(last - marked.last_line);
    if behind.map(str::trim).collect::<String>() != "}" {
        return Err(wrong(
            "only the closing brace may stand behind the closing anchor".to_owned(),
        ));
    }
    let result = function.signature.rsplit_once(") ->").map_or("", |(_, result)| result);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_not_the_beginning_of_another() {
        assert!(names("{{#exercise 05.1}}", "05.1"));
        assert!(!names("{{#exercise 05.12}} 105.1", "05.1"));
    }
}
