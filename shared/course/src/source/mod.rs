//! Text of exercises: the reference's body, the learner's file as it ships, one function put back, a stand-in for a
//! file that does not compile.
//!
//! Nothing is kept twice: the learner's file is made from the lesson's own source by [`marks`], and what is not written
//! yet is filled from there as well.

pub mod functions;
pub mod marks;
pub mod mirror;

use std::path::{Path, PathBuf};

use crate::error::CourseError;
use crate::exercise::{Exercise, Kind};
use crate::twin::Twin;
use functions::{Function, Parsed};
use marks::Marked;

/// The file of a module inside a `src` folder: `kernels.rs` or `kernels/mod.rs`, relative to it.
pub fn module_file(source: &Path, modules: &[&str]) -> Result<PathBuf, String> {
    let stem: PathBuf = modules.iter().collect();
    let plain = stem.with_extension("rs");
    let folder = stem.join("mod.rs");
    let exists = |path: &PathBuf| source.join(path).is_file();
    match [plain, folder].into_iter().find(exists) {
        Some(path) => Ok(path),
        None => Err(format!(
            "there is neither src/{0}.rs nor src/{0}/mod.rs",
            modules.join("/")
        )),
    }
}

/// A file with exercises, in the lesson and in its twin.
#[derive(Clone, Debug)]
pub struct ExerciseFile {
    /// Its place below `src`: `exercises/kernels.rs`.
    pub relative: PathBuf,
    /// The lesson's own, absolute.
    pub tracked: PathBuf,
    /// The lesson's own, as a reader types it in the root.
    pub tracked_shown: String,
    /// The learner's, absolute; it need not exist.
    pub learners: PathBuf,
    /// Its exercises, in the order of the story.
    pub exercises: Vec<Exercise>,
}

impl ExerciseFile {
    /// The lesson's text.
    pub fn tracked_text(&self) -> Result<String, CourseError> {
        read(&self.tracked)
    }

    /// The marks of one of its exercises.
    pub fn marked(&self, exercise: &Exercise) -> Result<Marked, CourseError> {
        marks::find(&self.tracked_text()?, exercise, &self.tracked_shown)
    }

    /// What the learner begins with: a `todo!` in each body, and the faulty body of a mend exercise.
    pub fn shipped(&self) -> Result<String, CourseError> {
        let exercises: Vec<&Exercise> = self.exercises.iter().collect();
        ship(&self.tracked_text()?, &exercises, &self.tracked_shown)
    }

    /// The file with a `todo!` in every exercise, mend exercises too.
    pub fn unwritten(&self) -> Result<String, CourseError> {
        let exercises: Vec<&Exercise> = self.exercises.iter().collect();
        without_bodies(&self.tracked_text()?, &exercises, &self.tracked_shown)
    }
}

/// The learner's body, whatever stands between the braces of the function, without common indentation. `None` when the
/// function is not there.
pub fn learner_body(twin: &Twin, exercise: &Exercise) -> Result<Option<String>, CourseError> {
    let path = &twin.file(exercise).learners;
    let text = read(path)?;
    let parsed = parse(&text, &twin.shown(path))?;
    Ok(parsed.function(exercise.function_name()).map(|function| {
        let body = text[function.body.clone()].trim_start_matches([' ', '\n']);
        let before = &text[..function.body.end - body.len()];
        let indent = &before[before.trim_end_matches(' ').len()..];
        marks::dedented(&(indent.to_owned() + body.trim_end()))
    }))
}

fn ship(text: &str, exercises: &[&Exercise], shown: &str) -> Result<String, CourseError> {
    replace_bodies(text, exercises, shown, |marked| marked.faulty.clone())
}

/// The file with a `todo!` for the bodies of these exercises, and without anchors.
pub fn without_bodies(text: &str, exercises: &[&Exercise], shown: &str) -> Result<String, CourseError> {
    replace_bodies(text, exercises, shown, |_| None)
}

/// The file without anchors, each marked body replaced by `begin` of it, or by its `todo!`.
fn replace_bodies(
    text: &str,
    exercises: &[&Exercise],
    shown: &str,
    begin: impl Fn(&Marked) -> Option<String>,
) -> Result<String, CourseError> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut bodies = Vec::new();
    for exercise in exercises {
        bodies.push((*exercise, marks::find(text, exercise, shown)?));
    }
    // From the end, so that the numbers of earlier lines stay true.
    bodies.sort_by_key(|(_, marked)| std::cmp::Reverse(marked.first_line));
    for (exercise, marked) in bodies {
        let anchor = &lines[marked.first_line - 1];
        let indent = anchor[..anchor.len() - anchor.trim_start().len()].to_owned();
        let begin = match begin(&marked) {
            Some(faulty) => faulty.lines().map(str::to_owned).collect(),
            None => vec![format!("{indent}todo!(\"{}\")", exercise.literal())],
        };
        lines.splice(marked.first_line - 1..marked.last_line, begin);
    }
    lines.retain(|line| !marks::is_anchor(line));
    Ok(lines.join("\n") + "\n")
}

/// The learner's text with one function as it ships, and everything else byte for byte as it was. A function that is
/// not there is added at the end. The function has the line ends of the rest.
///
/// # Errors
/// When one of the two texts is no Rust; then only the whole file can be put back.
pub fn reset_function(learner: &str, shipped: &str, exercise: &Exercise, shown: &str) -> Result<String, CourseError> {
    let name = exercise.function_name();
    let wrong = |problem: String| CourseError::Marks {
        path: shown.to_owned(),
        problem: format!("{}: {problem}", exercise.id),
    };
    let fresh = parse(shipped, shown)?;
    let fresh = fresh
        .function(name)
        .ok_or_else(|| wrong(format!("there is no function {name} in the lesson")))?;
    let before = parse(learner, shown)?;
    let end = if learner.contains("\r\n") { "\r\n" } else { "\n" };
    let item = shipped[fresh.item.clone()].replace('\n', end);
    let text = match before.function(name) {
        Some(old) => format!("{}{item}{}", &learner[..old.item.start], &learner[old.item.end..]),
        None => {
            let close = if learner.is_empty() || learner.ends_with('\n') {
                ""
            } else {
                end
            };
            format!("{learner}{close}{end}{item}{end}")
        }
    };
    // Places that were counted wrong would show here, and never in the learner's file.
    let after = parse(&text, shown)?;
    let others = |parsed: &Parsed| -> Vec<String> {
        let others = parsed.functions.iter().filter(|function| function.name != name);
        others.map(|function| function.code.clone()).collect()
    };
    let is_fresh = after.function(name).is_some_and(|function| function.code == fresh.code);
    if !is_fresh || others(&before) != others(&after) {
        return Err(wrong(format!("{name} can not be put back by itself")));
    }
    Ok(text)
}

/// Whether the `todo!` of this exercise still stands in its body.
pub fn is_unwritten(function: &Function, exercise: &Exercise) -> bool {
    let start = format!("{} ", exercise.id);
    let is_ours = |text: &String| *text == exercise.id || text.starts_with(&start);
    function.todos.iter().any(is_ours)
}

/// Whether a mend exercise's body is still the faulty one.
pub fn is_untouched(function: &Function, exercise: &Exercise, shipped: &Parsed) -> bool {
    let shipped = shipped.function(exercise.function_name());
    exercise.kind == Kind::Mend && shipped.is_some_and(|shipped| shipped.code == function.code)
}

/// A short name of a text, the same on every machine: FNV-1a, 64 bits.
pub fn hash(text: &str) -> String {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    format!("{hash:016x}")
}

/// The text of a file, with line ends of one character: for comparing, and for files that are generated from it.
pub fn read(path: &Path) -> Result<String, CourseError> {
    Ok(read_exactly(path)?.replace("\r\n", "\n"))
}

/// The text of a file, byte for byte: for a file that will be written again.
pub fn read_exactly(path: &Path) -> Result<String, CourseError> {
    std::fs::read_to_string(path).map_err(CourseError::io(path, "make the file readable, as UTF-8 text"))
}

/// The functions of a file.
pub fn parse(text: &str, shown: &str) -> Result<Parsed, CourseError> {
    functions::parse(text).map_err(|error| CourseError::Marks {
        path: format!("{shown}:{}", error.line),
        problem: format!("this is no Rust: {}", error.message),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise;

    const TRACKED: &str = "//! Two.\n\nuse crate::x;\n\n/// One.\npub fn one(a: u32) -> u32 {\n    assert!(a > 0);\n    // ANCHOR: ex_05_1\n    a + 1\n    // ANCHOR_END: ex_05_1\n}\n\n// ANCHOR: given\n/// Given.\npub fn given() {}\n// ANCHOR_END: given\n\n/// Two.\npub fn two() -> u32 {\n    // ANCHOR: ex_05_2\n    //~ fault 05.2\n    //~ | 1\n    2\n    //~ end\n    // ANCHOR_END: ex_05_2\n}\n";
    const SHIPPED: &str = "//! Two.\n\nuse crate::x;\n\n/// One.\npub fn one(a: u32) -> u32 {\n    assert!(a > 0);\n    todo!(\"05.1 One\")\n}\n\n/// Given.\npub fn given() {}\n\n/// Two.\npub fn two() -> u32 {\n    1\n}\n";

    fn exercises() -> Vec<Exercise> {
        let text = "[[exercises]]\nid = \"05.1\"\ntitle = \"One\"\nfunction = \"a::one\"\n[[exercises]]\nid = \"05.2\"\ntitle = \"Two\"\nkind = \"mend\"\nfunction = \"a::two\"\n";
        exercise::parse(text, "05", "05-x", "course.toml").unwrap().exercises
    }

    #[test]
    fn the_learners_file_has_stubs_and_faults_and_no_marks() {
        let exercises = exercises();
        let shipped = ship(TRACKED, &[&exercises[0], &exercises[1]], "a.rs").unwrap();
        assert_eq!(shipped, SHIPPED);
        let parsed = functions::parse(SHIPPED).unwrap();
        assert!(is_unwritten(parsed.function("one").unwrap(), &exercises[0]));
        assert!(is_untouched(parsed.function("two").unwrap(), &exercises[1], &parsed));
    }

    #[test]
    fn one_function_is_put_back_and_the_rest_stays() {
        let [one, _] = <[Exercise; 2]>::try_from(exercises()).unwrap();
        let learner = SHIPPED.replace("todo!(\"05.1 One\")", "a  -  1") + "\n// mine\nfn helper() {}\n";
        let reset = reset_function(&learner, SHIPPED, &one, "a.rs").unwrap();
        assert_eq!(reset, SHIPPED.to_owned() + "\n// mine\nfn helper() {}\n");
        let without = reset_function("//! Mine.\n \n", SHIPPED, &one, "a.rs").unwrap();
        assert!(without.starts_with("//! Mine.\n \n\n/// One.\npub fn one"), "{without}");
        let error = reset_function("fn (", SHIPPED, &one, "a.rs").unwrap_err();
        assert!(error.to_string().starts_with("a.rs:1: this is no Rust"), "{error}");
    }

    #[test]
    fn a_hash_is_the_same_everywhere() {
        assert_eq!(hash(""), "cbf29ce484222325");
        assert_eq!(hash("a"), "af63dc4c8601ec8c");
    }
}
