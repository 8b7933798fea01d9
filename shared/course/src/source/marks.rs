//! The marks in a lesson's own source: where the body of an exercise begins and ends, and the faults to mend.
//!
//! ```text
//!     // ANCHOR: ex_05_5
//!     …
//!     //~ fault 05.5
//!     //~ | None => return 0,
//!     None => return taken,
//!     //~ end
//!     …
//!     // ANCHOR_END: ex_05_5
//! ```
//!
//! Between `fault` and `end` the lines with a bar are the faulty ones, the others the right ones. A compiler sees
//! comments only.

use crate::error::CourseError;
use crate::exercise::{Exercise, Kind};

/// A body between its anchors, as lines of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Line of the opening anchor, from 1.
    pub first_line: usize,
    /// Line of the closing anchor, from 1.
    pub last_line: usize,
    /// The right body: no marks, no faulty lines, indented as in the file.
    pub right: String,
    /// The faulty body of a mend exercise.
    pub faulty: Option<String>,
}

/// Finds the marks of `exercise` in the text of its tracked file. `shown` names the file in errors.
pub fn find(text: &str, exercise: &Exercise, shown: &str) -> Result<Marked, CourseError> {
    let anchor = exercise.anchor();
    let wrong = |line: usize, problem: String| CourseError::Marks {
        path: if line == 0 {
            shown.to_owned()
        } else {
            format!("{shown}:{line}")
        },
        problem: format!("{}: {problem}", exercise.id),
    };
    let lines_with = |mark: &str| -> Vec<usize> {
        let is_mark = |line: &str| anchor_of(line, mark) == Some(anchor.as_str());
        let numbered = text.lines().enumerate();
        numbered
            .filter(|(_, line)| is_mark(line))
            .map(|(index, _)| index + 1)
            .collect()
    };
    let (first_line, last_line) = match (lines_with("ANCHOR:").as_slice(), lines_with("ANCHOR_END:").as_slice()) {
        ([], _) => return Err(wrong(0, format!("`// ANCHOR: {anchor}` is missing"))),
        ([first], []) => {
            return Err(wrong(*first, format!("`// ANCHOR_END: {anchor}` is missing")));
        }
        ([first], [last]) if first < last => (*first, *last),
        ([first, ..], _) => {
            return Err(wrong(
                *first,
                format!("expected one pair of anchors {anchor}, the opening one first"),
            ));
        }
    };
    let body: Vec<&str> = text.lines().skip(first_line).take(last_line - first_line - 1).collect();
    let (right, faulty, num_faults) =
        split(&body, exercise).map_err(|(index, problem)| wrong(first_line + 1 + index, problem))?;
    match (exercise.kind, num_faults) {
        (Kind::Mend, 0) => {
            let example = format!("a mend exercise has a fault: `//~ fault {}` in its body", exercise.id);
            Err(wrong(first_line, example))
        }
        (Kind::Mend, _) => Ok(Marked {
            first_line,
            last_line,
            right,
            faulty: Some(faulty),
        }),
        (_, 0) => Ok(Marked {
            first_line,
            last_line,
            right,
            faulty: None,
        }),
        (_, _) => Err(wrong(first_line, "only a mend exercise has fault marks".to_owned())),
    }
}

/// Right text, faulty text and the number of faults; or the index of a wrong line and what is wrong with it.
fn split(body: &[&str], exercise: &Exercise) -> Result<(String, String, usize), (usize, String)> {
    let (mut right, mut faulty) = (String::new(), String::new());
    let mut num_faults = 0;
    let mut open: Option<usize> = None;
    for (index, line) in body.iter().enumerate() {
        let indent = &line[..line.len() - line.trim_start().len()];
        let mark = line.trim_start().strip_prefix("//~").map(str::trim_end);
        match (mark, open) {
            (None, _) if anchor_of(line, "ANCHOR:").is_some() => {}
            (None, _) if anchor_of(line, "ANCHOR_END:").is_some() => {}
            (None, None) => {
                right += &format!("{line}\n");
                faulty += &format!("{line}\n");
            }
            (None, Some(_)) => right += &format!("{line}\n"),
            (Some(mark), None) => {
                if mark.trim() != format!("fault {}", exercise.id) {
                    return Err((
                        index,
                        format!("expected `//~ fault {}`, found `//~{mark}`", exercise.id),
                    ));
                }
                open = Some(index);
                num_faults += 1;
            }
            (Some(mark), Some(_)) => match mark.trim_start().strip_prefix('|') {
                Some(code) => {
                    let code = code.strip_prefix(' ').unwrap_or(code);
                    faulty += format!("{indent}{code}").trim_end();
                    faulty.push('\n');
                }
                None if mark.trim() == "end" => open = None,
                None => {
                    return Err((index, format!("expected `//~ | code` or `//~ end`, found `//~{mark}`")));
                }
            },
        }
    }
    match open {
        Some(index) => Err((index, "`//~ end` is missing".to_owned())),
        None => Ok((right, faulty, num_faults)),
    }
}

/// The name in an anchor comment of this kind.
fn anchor_of<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    Some(line.trim().strip_prefix("//")?.trim_start().strip_prefix(mark)?.trim())
}

/// Whether the line is an anchor of any name, which a learner's file has none of.
pub fn is_anchor(line: &str) -> bool {
    anchor_of(line, "ANCHOR:").is_some() || anchor_of(line, "ANCHOR_END:").is_some()
}

/// The text without the indentation that all its lines share.
pub fn dedented(text: &str) -> String {
    let indents = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start_matches(' ').len());
    let common = indents.min().unwrap_or(0);
    text.lines()
        .map(|line| line.get(common..).unwrap_or("").to_owned() + "\n")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise;

    fn exercise(kind: &str) -> Exercise {
        let text = format!("[[exercises]]\nid = \"05.5\"\ntitle = \"T\"\nkind = \"{kind}\"\nfunction = \"a::b\"\n");
        exercise::parse(&text, "05", "05-x", "course.toml")
            .unwrap()
            .exercises
            .remove(0)
    }

    #[track_caller]
    fn refused(text: &str, kind: &str, expected: &str) {
        let error = find(text, &exercise(kind), "src/a.rs").unwrap_err().to_string();
        assert_eq!(error, expected);
    }

    const MEND: &str = "pub fn b() -> u32 {\n    // ANCHOR: ex_05_5\n    let a = 1;\n    //~ fault 05.5\n    //~ | let c = 2;\n    //~ |     c\n    a\n    //~ end\n    // ANCHOR_END: ex_05_5\n}\n";

    #[test]
    fn right_and_faulty_lines_are_told_apart() {
        let marked = find(MEND, &exercise("mend"), "src/a.rs").unwrap();
        assert_eq!((marked.first_line, marked.last_line), (2, 9));
        assert_eq!(marked.right, "    let a = 1;\n    a\n");
        assert_eq!(
            marked.faulty.as_deref(),
            Some("    let a = 1;\n    let c = 2;\n        c\n")
        );
        assert_eq!(dedented(&marked.right), "let a = 1;\na\n");
    }

    #[test]
    fn a_wrong_mark_is_named_with_its_line() {
        refused(
            "pub fn b() {}\n",
            "write",
            "src/a.rs: 05.5: `// ANCHOR: ex_05_5` is missing",
        );
        refused(
            "// ANCHOR: ex_05_5\n",
            "write",
            "src/a.rs:1: 05.5: `// ANCHOR_END: ex_05_5` is missing",
        );
        let twice = MEND.to_owned() + MEND;
        refused(
            &twice,
            "mend",
            "src/a.rs:2: 05.5: expected one pair of anchors ex_05_5, the opening one first",
        );
        refused(MEND, "write", "src/a.rs:2: 05.5: only a mend exercise has fault marks");
        let other = MEND.replace("fault 05.5", "fault 05.6");
        refused(
            &other,
            "mend",
            "src/a.rs:4: 05.5: expected `//~ fault 05.5`, found `//~ fault 05.6`",
        );
        let open = MEND.replace("    //~ end\n", "");
        refused(&open, "mend", "src/a.rs:4: 05.5: `//~ end` is missing");
        let odd = MEND.replace("//~ | let", "//~ let");
        refused(
            &odd,
            "mend",
            "src/a.rs:5: 05.5: expected `//~ | code` or `//~ end`, found `//~ let c = 2;`",
        );
        let none = MEND.replace("//~", "//");
        refused(
            &none,
            "mend",
            "src/a.rs:2: 05.5: a mend exercise has a fault: `//~ fault 05.5` in its body",
        );
    }
}
