//! `cargo course diff NN`: what a lesson takes the place of, old and new, read from its documentation:
//!
//! ```text
//! Supersedes [`generation::forward::forward`].
//! ```
//!
//! At the head of a file the sentence stands for the whole module that holds what it names; at a function, for the
//! function that it names. The name is given in full, and rustdoc checks that it exists. Items are found by their
//! lines: the sources are formatted, so an item ends at the brace that stands below its beginning.

use std::path::{Path, PathBuf};

use lab::term::Tone;

use super::layout::compared;
use crate::error::CourseError;
use crate::exercise::Exercise;
use crate::lessons;
use crate::page::Page;
use crate::source;
use crate::source::marks::{dedented, is_anchor};
use crate::state::State;
use crate::tools::{Course, files};
use crate::twin::Twin;

/// Equal lines that are shown on each side of a change.
const CONTEXT: usize = 5;

/// One side of a comparison: a place in a lesson.
#[derive(Clone, Debug)]
struct Side {
    /// The lesson: `05`.
    lesson: String,
    /// As Rust names it: `generation::forward::forward`.
    path: String,
    /// The file, absolute.
    file: PathBuf,
    /// The function in it; empty for the whole file.
    item: String,
}

/// Compares each part of an earlier lesson with what takes its place here, as code alone. The bodies of exercises are
/// left out until they passed or were given up; `give_up` gives up those of what is shown, and notes it.
///
/// # Errors
/// When the lesson supersedes nothing, or names something that does not exist.
pub fn show(course: &Course, number: &str, give_up: bool, columns: usize, page: &Page) -> Result<String, CourseError> {
    let pairs = superseded(course, number)?;
    if pairs.is_empty() {
        return Err(CourseError::NotNow {
            problem: format!(
                "lesson {number} replaces no part of an earlier lesson, so there is nothing to compare as a whole"
            ),
            action: format!("compare one exercise with its reference: `cargo course diff {number}.1`"),
        });
    }
    let mut out = String::new();
    let mut hidden = Vec::new();
    for sides in &pairs {
        let [old, new] = sides.each_ref().map(|side| code(course, side, give_up, &mut hidden));
        if !out.is_empty() {
            out += "\n";
        }
        for (tone, mark, side) in [(Tone::Bad, "-", &sides[0]), (Tone::Good, "+", &sides[1])] {
            let text = format!("{}\n{}", side.path, course.shown(&side.file));
            out += &page.paint(tone, &page.columns(&[mark], &[1], &text, 3));
        }
        out += "\n";
        out += &compared(&old?, &new?, CONTEXT, columns, page);
    }
    if !hidden.is_empty() {
        hidden.sort();
        hidden.dedup();
        out += "\n";
        out += &page.text(&format!(
            "Left out, because they have not passed yet: the bodies of {}. With --give-up they are shown, and that is noted.",
            hidden.join(", ")
        ));
    }
    Ok(out)
}

/// What a lesson supersedes, old and new, in the order of its files.
fn superseded(course: &Course, number: &str) -> Result<Vec<[Side; 2]>, CourseError> {
    let mut libraries = Vec::new();
    for folder in lessons::folders(course)? {
        let lesson = lessons::one(course, &lessons::number_of(&folder).unwrap_or_default())?;
        libraries.push((lesson.number, lesson.lib, folder.join("src")));
    }
    let mine = libraries.iter().find(|(lesson, ..)| lesson == number);
    let (_, lib, folder) = mine.expect("the lesson was found before");
    let mut found = Vec::new();
    for file in files(folder)? {
        let text = source::read(&file)?;
        for (link, item) in sentences(&text) {
            let old = libraries
                .iter()
                .filter(|(lesson, ..)| lesson != number)
                .find_map(|(lesson, lib, folder)| place(lesson, lib, folder, &link, item.is_empty()))
                .ok_or_else(|| CourseError::Marks {
                    path: course.shown(&file),
                    problem: format!("it supersedes {link}, which no lesson has"),
                })?;
            let new = side(number, lib, folder, file.clone(), item);
            found.push([old, new]);
        }
    }
    Ok(found)
}

/// Each thing that a file says it supersedes, with the function whose documentation says so; at the head of the file
/// there is none.
fn sentences(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    for (index, line) in lines.iter().enumerate() {
        let Some((_, rest)) = line.split_once("Supersedes [`") else {
            continue;
        };
        let link = rest.split_once("`]").map_or("", |(link, _)| link);
        let item = match line.starts_with("///") {
            true => lines[index..]
                .iter()
                .find_map(|line| function_of(line))
                .unwrap_or_default(),
            false => "",
        };
        found.push((link.to_owned(), item.to_owned()));
    }
    found
}

/// `generate` of a line that begins the function `generate`.
fn function_of(line: &str) -> Option<&str> {
    let is_code = !line.trim_start().starts_with("//");
    let (_, rest) = line.split_once("fn ").filter(|_| is_code)?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Where a path such as `generation::model::Model::generate` leads in a library, if it does. With `whole` the module
/// that holds it.
fn place(lesson: &str, lib: &str, folder: &Path, path: &str, whole: bool) -> Option<Side> {
    let names: Vec<&str> = path.strip_prefix(lib)?.strip_prefix("::")?.split("::").collect();
    let in_module = (1..=names.len())
        .rev()
        .find_map(|count| source::module_file(folder, &names[..count]).ok());
    // A type that the library shows at its root: the file that defines it.
    let kinds = ["struct", "enum", "trait"].map(|kind| format!("pub {kind} {}", names[0]));
    let is_name_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let defines = |line: &str| {
        kinds
            .iter()
            .any(|start| line.strip_prefix(start.as_str()).is_some_and(is_name_end))
    };
    let holds_type = |file: &PathBuf| source::read(file).is_ok_and(|text| text.lines().any(defines));
    let module = match in_module {
        Some(module) => folder.join(module),
        None => files(folder).ok()?.into_iter().find(holds_type)?,
    };
    if whole {
        return Some(side(lesson, lib, folder, module, String::new()));
    }
    // A module may show what another file defines: as a rule one of its own name, among the exercises.
    let item = names.last()?.to_string();
    let mut all = files(folder).ok()?;
    all.sort_by_key(|file| (*file != module, file.file_name() != module.file_name()));
    let holds = |file: &PathBuf| source::read(file).is_ok_and(|text| function(&text, &item).is_some());
    let file = all.into_iter().find(holds)?;
    Some(side(lesson, lib, folder, file, item))
}

fn side(lesson: &str, lib: &str, folder: &Path, file: PathBuf, item: String) -> Side {
    let stem = file.strip_prefix(folder).unwrap_or(&file).with_extension("");
    let names = stem
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    let names = names
        .chain([item.clone()])
        .filter(|name| !["", "mod", "lib"].contains(&name.as_str()));
    Side {
        lesson: lesson.to_owned(),
        path: std::iter::once(lib.to_owned())
            .chain(names)
            .collect::<Vec<_>>()
            .join("::"),
        file,
        item,
    }
}

/// The code of one side. The ids of the exercises whose bodies are left out are added to `hidden`.
fn code(course: &Course, side: &Side, give_up: bool, hidden: &mut Vec<String>) -> Result<String, CourseError> {
    let part = |text: &str| match side.item.as_str() {
        "" => text.to_owned(),
        item => function(text, item).unwrap_or_default(),
    };
    let text = source::read(&side.file)?;
    let twin = Twin::for_verify(course, &side.lesson)?;
    let shown = part(&text);
    let is_here = |exercise: &&Exercise| shown.contains(&format!("ANCHOR: {}\n", exercise.anchor()));
    let here: Vec<&Exercise> = twin.coded().filter(is_here).collect();
    if give_up && !here.is_empty() {
        State::update(course, |state| {
            for exercise in &here {
                let progress = state.exercise(&exercise.id);
                progress.gave_up |= progress.passed_at.is_none();
            }
        })?;
    }
    let state = State::load(course)?;
    let is_secret = |exercise: &&Exercise| !state.progress(&exercise.id).may_see_solution();
    let secret: Vec<&Exercise> = here.into_iter().filter(is_secret).collect();
    hidden.extend(secret.iter().map(|exercise| exercise.id.clone()));
    let text = source::without_bodies(&text, &secret, &course.shown(&side.file))?;
    Ok(dedented(&without_prose(&part(&text))))
}

/// The lines of a function or method of this name, `None` where there is none.
fn function(text: &str, name: &str) -> Option<String> {
    let mut lines = text
        .lines()
        .skip_while(|line| function_of(line) != Some(name))
        .peekable();
    let first = lines.peek()?;
    let end = format!("{}}}", &first[..first.len() - first.trim_start().len()]);
    let mut found = String::new();
    for line in lines {
        found += line;
        found += "\n";
        if line == end || found.lines().count() == 1 && line.ends_with('}') {
            break;
        }
    }
    Some(found)
}

/// Code without documentation, imports, marks and tests.
fn without_prose(text: &str) -> String {
    let mut out = String::new();
    let mut in_import = false;
    for line in text.lines().take_while(|line| *line != "#[cfg(test)]") {
        let start = line.trim_start();
        in_import |= line.starts_with("use ") || line.starts_with("pub use ");
        let is_prose = ["///", "//!", "//~"].iter().any(|mark| start.starts_with(mark)) || is_anchor(line);
        if !in_import && !is_prose {
            out += line;
            out += "\n";
        }
        in_import &= !line.ends_with(';');
    }
    out.trim_matches('\n').to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! Doc. Supersedes [`a::b`]: it is like [`c`].\n\nuse a::{\n    b,\n};\n\n/// A type.\npub struct Model;\n\nimpl Model {\n    \
        /// Supersedes [`a::c`].\n    pub fn generate(&self) -> u8 {\n        // ANCHOR: loop\n        self.x // why\n    }\n}\n\n\
        /// Doc.\nfn one() {}\n\n#[cfg(test)]\nmod tests {}\n";

    #[test]
    fn a_sentence_stands_for_the_file_or_the_function() {
        let found = sentences(TEXT);
        let expected = [("a::b", ""), ("a::c", "generate")].map(|(link, item)| (link.to_owned(), item.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn code_comes_without_prose_imports_marks_and_tests() {
        let generate = function(TEXT, "generate").unwrap();
        let expected = "pub fn generate(&self) -> u8 {\n    self.x // why\n}\n";
        assert_eq!(dedented(&without_prose(&generate)), expected);
        assert_eq!(function(TEXT, "one").unwrap(), "fn one() {}\n");
        assert_eq!(function(TEXT, "two"), None);
        let code = without_prose(TEXT);
        assert!(
            code.starts_with("pub struct Model;\n\nimpl Model {") && code.ends_with("fn one() {}\n"),
            "{code}"
        );
    }
}
