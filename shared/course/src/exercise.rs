//! The exercises of a lesson, from its `course.toml`.
//!
//! Reading is strict about what every command needs (an id, a kind, a title, a function or a question) and says where a key
//! is missing, by file and line. What only makes an exercise a good one (three hints, minutes, named wrong ideas) is
//! the business of [`crate::verify`], so that a lesson can be used while it is written.

use std::path::PathBuf;

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

/// A wrong idea that has a test of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idea {
    /// Short name: "Neighbours are paired".
    pub name: String,
    /// The test of the exercise's group that fails for it.
    #[serde(default)]
    pub test: String,
    /// Why one thinks so, why it is wrong, and what to look at.
    #[serde(default)]
    pub says: String,
}

/// One exercise, in the form that commands use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exercise {
    /// `05.1`; never used again for another one.
    pub id: String,
    /// What the learner does.
    pub kind: Kind,
    /// Title.
    pub title: String,
    /// Module path inside the library and the function, `kernels::rms_norm`; empty for a predict exercise.
    pub function: String,
    /// The module of `tests/exercises.rs` that tests it.
    pub group: String,
    /// Minutes to set aside.
    pub minutes: u32,
    /// 1 to 3.
    pub difficulty: u32,
    /// Whether every reader should do it.
    pub core: bool,
    /// What the reader knows after the pass, in a sentence.
    pub learned: String,
    /// The place in the book: file and anchor.
    pub page: String,
    /// Three hints, the last almost the answer.
    pub hints: Vec<String>,
    /// Wrong ideas with a test each.
    pub ideas: Vec<Idea>,
    /// Predict: what is asked.
    pub question: String,
    /// Predict: what can be answered.
    pub options: Vec<String>,
    /// Predict: index of the right option.
    pub answer: usize,
    /// Predict: why the right answer is right.
    pub because: String,
    /// Predict: one text for each option, empty for the right one.
    pub answers: Vec<String>,
    /// Line of its table in `course.toml`.
    #[serde(skip)]
    pub line: usize,
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

    /// The command that checks it.
    pub fn command(&self) -> String {
        format!("cargo course check {}", self.id)
    }
}

/// The exercises of a lesson (`05`), in the order of its story.
///
/// # Errors
/// When `course.toml` is missing or wrong; the text names the line.
pub fn all(course: &Course, number: &str) -> Result<Vec<Exercise>, CourseError> {
    let (folder, path) = place(course, number)?;
    let text = std::fs::read_to_string(&path).map_err(CourseError::io(
        &path,
        "each lesson has a course.toml; restore it with git",
    ))?;
    parse(&text, number, &lessons::number_and_name(&folder), &course.shown(&path))
}

/// The exercise with this id, `05.1` or `5.1`.
///
/// # Errors
/// When there is no such lesson or exercise; the text lists what there is.
pub fn find(course: &Course, id: &str) -> Result<Exercise, CourseError> {
    let asked = id.trim();
    let (lesson, index) = asked.split_once('.').unwrap_or((asked, ""));
    let number = lessons::find(course, lesson)?;
    let found = all(course, &number)?;
    let id = format!("{number}.{index}");
    if let Some(exercise) = found.iter().find(|exercise| exercise.id == id) {
        return Ok(exercise.clone());
    }
    let known: Vec<String> = found.into_iter().map(|exercise| exercise.id).collect();
    Err(CourseError::NoExercise {
        asked: asked.to_owned(),
        lesson: number,
        known: known.join(", "),
    })
}

/// The lesson's folder and its `course.toml`.
fn place(course: &Course, number: &str) -> Result<(PathBuf, PathBuf), CourseError> {
    let folder = lessons::folder(course, number)?;
    let path = folder.join("course.toml");
    Ok((folder, path))
}

/// The part of the file that this module reads.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    exercises: Vec<Spanned<Raw>>,
}

/// A table as it is written.
#[derive(Deserialize)]
struct Raw {
    id: Spanned<String>,
    #[serde(default)]
    kind: Kind,
    title: Spanned<String>,
    #[serde(default)]
    function: Option<Spanned<String>>,
    #[serde(default)]
    group: String,
    #[serde(default)]
    minutes: u32,
    #[serde(default)]
    difficulty: u32,
    #[serde(default = "yes")]
    core: bool,
    #[serde(default)]
    learned: String,
    #[serde(default)]
    page: String,
    #[serde(default)]
    hints: Vec<String>,
    #[serde(default)]
    ideas: Vec<Idea>,
    #[serde(default)]
    question: String,
    #[serde(default)]
    options: Vec<String>,
    answer: Option<Spanned<usize>>,
    #[serde(default)]
    because: String,
    #[serde(default)]
    answers: Vec<String>,
}

fn yes() -> bool {
    true
}

/// Reads the exercises out of the text of a `course.toml`.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn parse(text: &str, number: &str, folder: &str, shown: &str) -> Result<Vec<Exercise>, CourseError> {
    let line_at = |byte: usize| text[..byte.min(text.len())].matches('\n').count() + 1;
    let wrong = |byte: usize, problem: String| CourseError::CourseToml {
        path: format!("{shown}:{}", line_at(byte)),
        problem,
    };
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        wrong(at, error.message().replace('\n', ", "))
    })?;
    let mut found: Vec<Exercise> = Vec::new();
    for raw in file.exercises {
        let table = raw.span().start;
        let raw = raw.into_inner();
        let at_id = raw.id.span().start;
        let id = raw.id.into_inner();
        let index = id.strip_prefix(number).and_then(|id| id.strip_prefix('.'));
        let is_number =
            |text: &str| !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
        let Some(index) = index.filter(|index| is_number(index)) else {
            return Err(wrong(at_id, format!("expected an id like {number}.1, found {id:?}")));
        };
        if found.iter().any(|known| known.id == id) {
            return Err(wrong(at_id, format!("the id {id} stands here twice")));
        }
        let at_title = raw.title.span().start;
        let title = raw.title.into_inner();
        if title.trim().is_empty() || title.contains(['"', '\\', '{', '}', '\n']) {
            return Err(wrong(
                at_title,
                format!("{id}: expected a title of one line without quotes, braces or backslashes, found {title:?}"),
            ));
        }
        let function = match (raw.kind, raw.function) {
            (Kind::Predict, None) => String::new(),
            (Kind::Predict, Some(function)) => {
                return Err(wrong(
                    function.span().start,
                    format!("{id}: a predict exercise has a question and no function"),
                ));
            }
            (_, None) => {
                return Err(wrong(
                    table,
                    format!("{id}: `function` is missing, like \"kernels::rms_norm\""),
                ));
            }
            (_, Some(function)) => {
                let at = function.span().start;
                let function = function.into_inner();
                if !is_path(&function) {
                    return Err(wrong(
                        at,
                        format!(
                            "{id}: expected the module path and the function, like \"kernels::rms_norm\", found {function:?}"
                        ),
                    ));
                }
                function
            }
        };
        if let (Kind::Predict, Some(problem)) = (
            raw.kind,
            question_problem(&raw.question, &raw.options, raw.answer.as_ref()),
        ) {
            return Err(wrong(table, format!("{id}: {problem}")));
        }
        let page = match raw.page.as_str() {
            "" => format!("book/src/{folder}.md#{number}-{index}"),
            page => page.to_owned(),
        };
        found.push(Exercise {
            kind: raw.kind,
            title,
            function,
            group: raw.group,
            minutes: raw.minutes,
            difficulty: raw.difficulty,
            core: raw.core,
            learned: raw.learned,
            page,
            hints: raw.hints,
            ideas: raw.ideas,
            question: raw.question,
            options: raw.options,
            answer: raw.answer.map_or(0, Spanned::into_inner),
            because: raw.because,
            answers: raw.answers,
            line: line_at(at_id),
            id,
        });
    }
    Ok(found)
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

/// What a question lacks.
fn question_problem(question: &str, options: &[String], answer: Option<&Spanned<usize>>) -> Option<String> {
    if question.is_empty() {
        return Some("a predict exercise has a `question`".to_owned());
    }
    if options.len() < 2 {
        return Some(format!("expected at least two `options`, found {}", options.len()));
    }
    match answer {
        None => Some("`answer` is missing: the index of the right option, from 0".to_owned()),
        Some(answer) if *answer.get_ref() >= options.len() => Some(format!(
            "expected an `answer` below {}, the number of options, found {}",
            options.len(),
            answer.get_ref()
        )),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Exercise>, String> {
        parse(text, "05", "05-generation", "lessons/05-generation/course.toml").map_err(|error| error.to_string())
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
        assert_eq!(exercise.line, 2);
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
            "course.toml:6: 05.1: expected the module path",
        );
        refused(
            &start.replace("05.1", "06.1"),
            "course.toml:4: expected an id like 05.1",
        );
        refused(&start.replace("\"A\"", "A"), "course.toml:5: ");
        refused(
            &start.replace("\"A\"", "\"a {b}\""),
            "course.toml:5: 05.1: expected a title",
        );
        let whole = format!("{start}function = \"a::b\"\n");
        let twice = whole.clone() + &whole["lesson = \"05\"\n\n".len()..];
        refused(&twice, "course.toml:8: the id 05.1 stands here twice");
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
        assert_eq!(read(&format!("{options}answer = 1\n")).unwrap()[0].answer, 1);
        refused(&format!("{options}answer = 1\nfunction = \"a::b\"\n"), "no function");
    }
}
