//! The exercises and predictions of a lesson, from its `course.toml`.
//!
//! Reading is strict about what every command needs (an id, a kind, a title, a function or a question), and an error
//! names file and line. What only makes an exercise a good one (three hints, minutes, wrong ideas with their faults) is
//! checked by [`crate::verify`], so that a lesson can be used while it is being written.

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::error::CourseError;
use crate::lessons;
use crate::tools::Course;

/// What the learner is asked to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Write the body of a function.
    #[default]
    Write,
    /// Find and mend the fault in a body.
    Mend,
    /// Write a test that kills planted faults.
    Catch,
    /// Answer a question before the answer is shown.
    Predict,
}

impl Kind {
    /// The word that `course.toml` uses.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Write => "write",
            Kind::Mend => "mend",
            Kind::Catch => "catch",
            Kind::Predict => "predict",
        }
    }
}

/// A wrong idea, and how the tests of its exercise tell it from an ordinary bug.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Idea {
    /// The idea as a statement: "Neighbours are paired".
    pub name: String,
    /// Why it is wrong, and what to look at.
    pub says: String,
    /// Tests of the group that all fail for it.
    pub fails: Vec<String>,
    /// Tests of the group that all pass for it.
    pub passes: Vec<String>,
    /// Text that the message of the first failing test contains; empty when any message will do.
    pub message: String,
    /// How [`crate::verify`] plants the idea.
    #[serde(flatten)]
    pub fault: Fault,
}

/// An ordinary bug, which is none of the exercise's wrong ideas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Other {
    /// What is wrong, for an author.
    pub what: String,
    /// How [`crate::verify`] plants it.
    #[serde(flatten)]
    pub fault: Fault,
}

/// A fault to plant in the reference's body: replacements in it, or another body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Fault {
    #[serde(rename = "fault")]
    replacements: Vec<Replacement>,
    body: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Replacement {
    find: String,
    replace: String,
}

impl Fault {
    /// Whether there is nothing to plant.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The reference's `body` with the fault in it.
    pub fn planted(&self, body: &str) -> Result<String, String> {
        if !self.body.is_empty() {
            return Ok(self.body.clone());
        }
        let mut body = body.to_owned();
        for Replacement { find, replace } in &self.replacements {
            match body.matches(find.as_str()).count() {
                1 => body = body.replacen(find.as_str(), replace, 1),
                n => return Err(format!("expected {find:?} once in the body, found it {n} times")),
            }
        }
        Ok(body)
    }
}

/// One exercise.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Exercise {
    /// `05.1`; never used again for another one.
    pub id: String,
    /// What the learner does.
    pub kind: Kind,
    /// The exercise's title.
    pub title: String,
    /// Module path inside the library and the function, `kernels::rms_norm`; empty for a predict exercise.
    pub function: String,
    /// The module of `tests/exercises.rs` that tests it.
    pub group: String,
    /// Minutes to set aside.
    pub minutes: u32,
    /// Difficulty, 1 to 3.
    pub difficulty: u32,
    /// Whether every reader should do it.
    #[serde(default = "yes")]
    pub core: bool,
    /// What the reader knows after the pass, in a sentence.
    pub learned: String,
    /// The place in the book's source: file and anchor.
    pub page: String,
    /// Three hints, the last almost the answer.
    pub hints: Vec<String>,
    /// Wrong ideas that its tests can tell.
    pub ideas: Vec<Idea>,
    /// Ordinary bugs, for which no idea may be named.
    pub others: Vec<Other>,
    /// Predict: what is asked.
    pub question: String,
    /// Predict: what can be answered.
    pub options: Vec<String>,
    /// Predict: index of the right option.
    pub answer: Option<usize>,
    /// Predict: why the right answer is right.
    pub because: String,
    /// Predict: one text for each option, empty for the right one.
    pub answers: Vec<String>,
    /// Line of its table in `course.toml`.
    #[serde(skip)]
    pub line: usize,
}

fn yes() -> bool {
    true
}

impl Exercise {
    /// `05` of `05.1`.
    pub fn lesson(&self) -> &str {
        self.id.split('.').next().unwrap_or_default()
    }

    /// What stands in `todo!("…")` while the body is not written: `05.1 RMSNorm`.
    pub fn literal(&self) -> String {
        format!("{} {}", self.id, self.title)
    }

    /// The name of the anchor around the body: `ex_05_1`.
    pub fn anchor(&self) -> String {
        format!("ex_{}", self.id.replace('.', "_"))
    }

    /// `rms_norm` of `kernels::rms_norm`; empty for a predict exercise.
    pub fn function_name(&self) -> &str {
        self.function.rsplit("::").next().unwrap_or_default()
    }

    /// `["kernels"]` of `kernels::rms_norm`.
    pub fn modules(&self) -> Vec<&str> {
        let mut path: Vec<&str> = self.function.split("::").collect();
        path.pop();
        path
    }

    /// Whether the learner writes code for it.
    pub fn has_code(&self) -> bool {
        self.kind != Kind::Predict
    }

    /// The text of the right option of a predict exercise.
    pub fn right_option(&self) -> &str {
        self.answer.map_or("", |answer| &self.options[answer])
    }

    /// Its place in the built book: `target/book/05-generation.html#05-1`, which `cargo course book` makes.
    pub fn built_page(&self) -> String {
        self.page
            .replacen("book/src/", "target/book/", 1)
            .replacen(".md", ".html", 1)
    }

    /// The command that checks it.
    pub fn command(&self) -> String {
        format!("cargo course check {}", self.id)
    }

    /// What is wrong with it; `known` are the exercises before it.
    fn problem(&self, number: &str, known: &[Self]) -> Option<String> {
        let is_number =
            |text: &str| !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
        let index = self.id.strip_prefix(number).and_then(|id| id.strip_prefix('.'));
        let (id, title, function) = (&self.id, &self.title, &self.function);
        Some(if !index.is_some_and(is_number) {
            format!("expected an id like {number}.1, found {id:?}")
        } else if known.iter().any(|known| known.id == *id) {
            format!("the id {id} stands here twice")
        } else if title.trim().is_empty() || title.contains(['"', '\\', '{', '}', '\n']) {
            format!("{id}: expected a title of one line without quotes, braces or backslashes, found {title:?}")
        } else if self.kind == Kind::Predict {
            if !function.is_empty() {
                format!("{id}: a predict exercise has a question and no function")
            } else if self.question.is_empty() {
                format!("{id}: a predict exercise has a `question`")
            } else if self.options.len() < 2 {
                format!("{id}: expected at least two `options`, found {}", self.options.len())
            } else {
                match self.answer {
                    None => format!("{id}: `answer` is missing: the index of the right option, from 0"),
                    Some(answer) if answer >= self.options.len() => format!(
                        "{id}: expected an `answer` below {}, the number of options, found {answer}",
                        self.options.len()
                    ),
                    Some(_) => return None,
                }
            }
        } else if function.is_empty() {
            format!("{id}: `function` is missing, like \"kernels::rms_norm\"")
        } else if !is_path(function) {
            format!("{id}: expected the module path and the function, like \"kernels::rms_norm\", found {function:?}")
        } else {
            return None;
        })
    }
}

/// At least one module and the function, all of them plain names.
fn is_path(function: &str) -> bool {
    let names: Vec<&str> = function.split("::").collect();
    let is_name = |name: &&str| {
        name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    names.len() >= 2 && names.iter().all(is_name)
}

/// A question that the lesson's story asks: one of several options, or a number.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Prediction {
    /// Name of the prediction, unique in its lesson.
    pub id: String,
    /// The question.
    pub question: String,
    /// What can be answered; empty where a number is asked for.
    pub options: Vec<String>,
    /// Index of the right option, or the right number; `None` where the story measures it.
    pub answer: Option<f64>,
    /// Why the right answer is right.
    pub because: String,
    /// One text for each option; that of the right option is empty.
    pub answers: Vec<String>,
    /// The unit of a number.
    pub unit: String,
    /// Largest factor by which a number may be off.
    pub within: f64,
    /// Line of its table in `course.toml`.
    #[serde(skip)]
    pub line: usize,
}

/// What a `course.toml` holds for the reader to answer or to write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tasks {
    /// The exercises, in the order of the story.
    pub exercises: Vec<Exercise>,
    /// The questions of the story.
    pub predictions: Vec<Prediction>,
}

/// The exercises of a lesson (`05`), in the order of its story.
pub fn all(course: &Course, number: &str) -> Result<Vec<Exercise>, CourseError> {
    Ok(tasks(course, number)?.exercises)
}

/// The exercises and the predictions of a lesson.
pub fn tasks(course: &Course, number: &str) -> Result<Tasks, CourseError> {
    let folder = lessons::folder(course, number)?;
    let path = folder.join("course.toml");
    let action = "each lesson has a course.toml; restore it with git";
    let text = std::fs::read_to_string(&path).map_err(CourseError::io(&path, action))?;
    parse(&text, number, &lessons::number_and_name(&folder), &course.shown(&path))
}

/// The exercise with this id, `05.1` or `5.1`.
pub fn find(course: &Course, id: &str) -> Result<Exercise, CourseError> {
    let asked = id.trim();
    let (lesson, index) = asked.split_once('.').unwrap_or((asked, ""));
    let number = lessons::find(course, lesson)?;
    let mut found = all(course, &number)?;
    let id = format!("{number}.{index}");
    match found.iter().position(|exercise| exercise.id == id) {
        Some(at) => Ok(found.swap_remove(at)),
        None => Err(CourseError::NoExercise {
            asked: asked.to_owned(),
            known: found
                .into_iter()
                .map(|exercise| exercise.id)
                .collect::<Vec<_>>()
                .join(", "),
            lesson: number,
        }),
    }
}

/// The part of the file that this module reads.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct File {
    exercises: Vec<Spanned<Exercise>>,
    predictions: Vec<Spanned<Prediction>>,
}

/// Reads exercises and predictions out of the text of a `course.toml`. `folder` is the lesson's, `05-generation`;
/// `shown` names the file in errors.
///
/// # Errors
/// The first thing that is wrong, with the line of its table.
pub fn parse(text: &str, number: &str, folder: &str, shown: &str) -> Result<Tasks, CourseError> {
    let line_at = |byte: usize| text[..byte.min(text.len())].matches('\n').count() + 1;
    let wrong = |line: usize, problem: String| CourseError::CourseToml {
        path: format!("{shown}:{line}"),
        problem,
    };
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        wrong(line_at(at), error.message().replace('\n', ", "))
    })?;
    let mut tasks = Tasks::default();
    for table in file.exercises {
        let line = line_at(table.span().start);
        let mut exercise = table.into_inner();
        if let Some(problem) = exercise.problem(number, &tasks.exercises) {
            return Err(wrong(line, problem));
        }
        exercise.line = line;
        if exercise.page.is_empty() {
            exercise.page = format!("book/src/{folder}.md#{}", exercise.id.replace('.', "-"));
        }
        tasks.exercises.push(exercise);
    }
    for table in file.predictions {
        let line = line_at(table.span().start);
        tasks.predictions.push(Prediction {
            line,
            ..table.into_inner()
        });
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Exercise>, String> {
        let tasks = parse(text, "05", "05-generation", "lessons/05-generation/course.toml");
        tasks.map(|tasks| tasks.exercises).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let error = read(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let text = "[[exercises]]\nid = \"05.1\"\ntitle = \"RMSNorm\"\nfunction = \"kernels::rms_norm\"\n";
        let exercise = read(text).unwrap().remove(0);
        assert_eq!((exercise.kind, exercise.core), (Kind::Write, true));
        assert_eq!(exercise.page, "book/src/05-generation.md#05-1");
        assert_eq!(exercise.literal(), "05.1 RMSNorm");
        assert_eq!((exercise.anchor().as_str(), exercise.lesson()), ("ex_05_1", "05"));
        assert_eq!(
            (exercise.modules(), exercise.function_name()),
            (vec!["kernels"], "rms_norm")
        );
        assert_eq!(exercise.line, 1);
    }

    #[test]
    fn errors_name_file_and_line() {
        let start = "lesson = \"05\"\n\n[[exercises]]\nid = \"05.1\"\ntitle = \"A\"\n";
        refused(
            start,
            "lessons/05-generation/course.toml:3: 05.1: `function` is missing",
        );
        refused(
            &format!("{start}function = \"norm\"\n"),
            "course.toml:3: 05.1: expected the module path",
        );
        refused(
            &start.replace("05.1", "06.1"),
            "course.toml:3: expected an id like 05.1",
        );
        refused(&start.replace("\"A\"", "A"), "course.toml:5: ");
        refused(
            &start.replace("\"A\"", "\"a {b}\""),
            "course.toml:3: 05.1: expected a title",
        );
        let whole = format!("{start}function = \"a::b\"\n");
        let twice = whole.clone() + &whole["lesson = \"05\"\n\n".len()..];
        refused(&twice, "course.toml:7: the id 05.1 stands here twice");
    }

    #[test]
    fn a_question_has_options_and_an_answer_among_them() {
        let start = "[[exercises]]\nid = \"05.7\"\ntitle = \"Rows\"\nkind = \"predict\"\n";
        refused(start, "course.toml:1: 05.7: a predict exercise has a `question`");
        let asked = format!("{start}question = \"How many?\"\n");
        refused(&asked, "at least two `options`");
        let options = format!("{asked}options = [\"64\", \"75\"]\n");
        refused(&options, "`answer` is missing");
        refused(&format!("{options}answer = 2\n"), "an `answer` below 2");
        assert_eq!(read(&format!("{options}answer = 1\n")).unwrap()[0].right_option(), "75");
        refused(&format!("{options}answer = 1\nfunction = \"a::b\"\n"), "no function");
    }

    /// Both ways to plant a fault.
    #[test]
    fn an_idea_has_tests_a_message_and_a_fault() {
        let text = r#"
[[exercises]]
id = "05.1"
title = "Sum"
function = "a::b"
[[exercises.ideas]]
name = "New"
fails = ["first"]
passes = ["second"]
message = "more than"
fault = [{ find = "x + 1", replace = "x" }]
[[exercises.others]]
what = "nothing is done"
body = "0"
[[predictions]]
id = "rows"
question = "How many?"
unit = "rows"
within = 1.1
"#;
        let tasks = parse(text, "05", "05-x", "course.toml").unwrap();
        let exercise = &tasks.exercises[0];
        let new = &exercise.ideas[0];
        assert_eq!((new.fails[0].as_str(), new.passes[0].as_str()), ("first", "second"));
        assert_eq!(new.fault.planted("let x = x + 1;"), Ok("let x = x;".to_owned()));
        let error = new.fault.planted("x + 1, x + 1").unwrap_err();
        assert_eq!(error, "expected \"x + 1\" once in the body, found it 2 times");
        assert_eq!(exercise.others[0].fault.planted("1"), Ok("0".to_owned()));
        assert_eq!(
            (tasks.predictions[0].unit.as_str(), tasks.predictions[0].line),
            ("rows", 15)
        );
    }
}
