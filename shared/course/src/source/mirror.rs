//! A stand-in for a learner's file that does not compile: the same text, line for line, with the broken functions taken
//! out and the lesson's own in their place.
//!
//! The stand-in has the learner's line numbers, so that what the compiler says about the rest of the file is true of
//! the file itself. A function that comes from the lesson is a `todo!` again, which the twin fills with the reference's
//! text.

use std::collections::BTreeSet;
use std::ops::Range;

use super::functions::{self, Function, NotRust, Parsed};

/// What to take out of a learner's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Broken {
    /// Functions of exercises, by name.
    pub functions: BTreeSet<String>,
    /// First lines of other items.
    pub items: BTreeSet<usize>,
    /// Nothing of the file can be used.
    pub whole: bool,
}

impl Broken {
    /// Whether the file can be used as it is.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A learner's file that parses: as it is, or with the functions blanked that do not.
#[derive(Clone, Debug)]
pub struct Readable {
    /// The text, with the learner's lines.
    pub text: String,
    /// Its functions.
    pub parsed: Parsed,
    /// Names of the functions that had to be blanked.
    pub blanked: BTreeSet<String>,
    /// What the parser said about the file as it is.
    pub problem: Option<NotRust>,
}

/// Parses the file, and where that fails, looks for the functions that are at fault: each one of `names` stands between
/// a line that begins with `pub fn` and the first line that is a lone brace. `None` when the fault lies elsewhere.
pub fn readable(text: &str, names: &[&str]) -> Result<Readable, NotRust> {
    let problem = match functions::parse(text) {
        Ok(parsed) => {
            return Ok(Readable {
                text: text.to_owned(),
                parsed,
                blanked: BTreeSet::new(),
                problem: None,
            });
        }
        Err(problem) => problem,
    };
    let mut lines: Vec<&str> = text.lines().collect();
    let mut blanked = BTreeSet::new();
    for name in names {
        let Some(chunk) = chunk_of(&lines, name) else {
            continue;
        };
        if functions::parse(&lines[chunk.clone()].join("\n")).is_err() {
            lines[chunk].fill("");
            blanked.insert((*name).to_owned());
        }
    }
    let text = lines.join("\n") + "\n";
    match functions::parse(&text) {
        Ok(parsed) if !blanked.is_empty() => Ok(Readable {
            text,
            parsed,
            blanked,
            problem: Some(problem),
        }),
        _ => Err(problem),
    }
}

/// Indices of the lines of a function, its documentation and attributes included.
fn chunk_of(lines: &[&str], name: &str) -> Option<Range<usize>> {
    let begins = |line: &str| {
        let rest = line.strip_prefix("pub fn ");
        let rest = rest.and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let at = lines.iter().position(|line| begins(line))?;
    let is_above = |line: &&str| line.starts_with("///") || line.starts_with("#[");
    let above = lines[..at].iter().rev().take_while(|line| is_above(line));
    let first = at - above.count();
    let is_next = |line: &str| {
        ["pub ", "fn ", "///", "#[", "use ", "const "]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let mut end = at + 1;
    while end < lines.len() {
        if lines[end].trim_end() == "}" {
            return Some(first..end + 1);
        }
        if is_next(lines[end]) {
            break;
        }
        end += 1;
    }
    Some(first..end)
}

/// The stand-in. `tracked` is the lesson's file with a `todo!` in each of `exercises`, which are those of this file.
///
/// A function that can not be used comes from the lesson together with its imports, in a module of its own, so that
/// neither the learner's signature nor a missing import is in its way. So do functions that the lesson gives and the
/// learner deleted.
pub fn stand_in(learner: Option<&Readable>, tracked: &str, broken: &Broken) -> String {
    let Some(learner) = learner.filter(|_| !broken.whole) else {
        return tracked.to_owned();
    };
    let Ok(reference) = functions::parse(tracked) else {
        return tracked.to_owned();
    };
    let mut text = learner.text.clone();
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    let mut added = String::new();
    for theirs in &reference.functions {
        let is_broken = broken.functions.contains(&theirs.name);
        let module = || alone(tracked, &reference, theirs);
        match learner.parsed.function(&theirs.name) {
            Some(mine) if is_broken => {
                changes.push((mine.item.clone(), padded(&module(), &text[mine.item.clone()])));
            }
            Some(_) => {}
            None => added += &module(),
        }
    }
    for item in &learner.parsed.others {
        if broken.items.contains(&item.lines.0) {
            changes.push((item.item.clone(), padded("", &text[item.item.clone()])));
        }
    }
    for function in &learner.parsed.functions {
        if broken.items.contains(&function.lines.0) {
            changes.push((function.item.clone(), padded("", &text[function.item.clone()])));
        }
    }
    changes.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    for (range, instead) in changes {
        text.replace_range(range, &instead);
    }
    text + &added + if added.is_empty() { "" } else { "\n" }
}

/// `instead` on one line, and as many line ends as `old` has.
fn padded(instead: &str, old: &str) -> String {
    let ends = old.matches('\n').count();
    instead.replace('\n', " ") + &"\n".repeat(ends)
}

/// One function of the lesson's file in a module of its own, on one line, with the imports that it may need.
fn alone(tracked: &str, parsed: &Parsed, function: &Function) -> String {
    let imports: String = parsed
        .others
        .iter()
        .filter(|item| item.is_use)
        .map(|item| outward(&tracked[item.item.clone()]) + " ")
        .collect();
    let Function {
        name, signature, code, ..
    } = function;
    format!(
        "#[allow(unused_imports, missing_docs)] mod course_{name} {{ use super::*; {imports}{signature} {{ {code} }} }} pub use course_{name}::{name}; "
    )
}

/// An import seen from one module further in, on one line.
fn outward(import: &str) -> String {
    let lines = import
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default().trim());
    lines
        .collect::<Vec<_>>()
        .join(" ")
        .replace("use super::", "use super::super::")
        .replace("use self::", "use super::")
}

#[cfg(test)]
mod tests {
    use super::*;
    const SHIPPED: &str = "use crate::x;\n\npub fn one(a: u32) -> u32 {\n    todo!(\"05.1 One\")\n}\n\n/// Two.\npub fn two() -> u32 {\n    todo!(\"05.2 Two\")\n}\n";

    fn stand(text: &str, functions: &[&str]) -> String {
        let readable = readable(text, &["one", "two"]).unwrap();
        let mut broken = Broken::default();
        broken.functions.extend(functions.iter().map(|name| (*name).to_owned()));
        stand_in(Some(&readable), SHIPPED, &broken)
    }

    #[test]
    fn a_broken_function_keeps_the_lines_of_its_neighbours() {
        let mine = "use crate::x;\n\npub fn one(a: u32) -> u32 {\n    let c: u8 = a;\n    c\n}\n\npub fn two() -> u32 {\n    2\n}\n";
        let text = stand(mine, &["one"]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[2].contains("mod course_one") && lines[2].contains("todo ! (\"05.1 One\")"),
            "{text}"
        );
        assert_eq!(
            (lines[0], lines[3], lines[7]),
            ("use crate::x;", "", "pub fn two() -> u32 {")
        );
    }

    #[test]
    fn another_signature_is_replaced_by_the_lessons() {
        let mine = "pub fn one(b: u64) -> u32 {\n    1\n}\n\npub fn two() -> u32 {\n    2\n}\n";
        let text = stand(mine, &["one"]);
        let first = text.lines().next().unwrap();
        assert!(first.contains("mod course_one { use super::*; use crate::x; pub fn one(a: u32) -> u32 { todo ! (\"05.1 One\") } } pub use course_one::one;"), "{first}");
        assert_eq!(text.lines().nth(5), Some("    2"));
        functions::parse(&text).unwrap();
    }

    #[test]
    fn a_function_that_does_not_parse_hides_no_other() {
        let mine = "/// One.\npub fn one(a: u32) -> u32 {\n    a + (\n}\n\npub fn two() -> u32 {\n    2\n}\n";
        let found = readable(mine, &["one", "two"]).unwrap();
        assert_eq!(found.blanked.iter().collect::<Vec<_>>(), ["one"]);
        assert!(found.problem.is_some());
        assert!(found.text.starts_with("\n\n\n\n\npub fn two"));
        // An open brace swallows the end; the next function begins at the margin all the same.
        let open = "pub fn one(a: u32) -> u32 {\n    if a > 1 {\n    a\n\npub fn two() -> u32 {\n    2\n}\n";
        let found = readable(open, &["one", "two"]).unwrap();
        assert_eq!(found.blanked.iter().collect::<Vec<_>>(), ["one"]);
        assert!(found.parsed.function("two").is_some());
        let text = stand(open, &[]);
        assert!(text.contains("mod course_one"), "{text}");
    }

    #[test]
    fn a_fault_outside_of_functions_is_the_files() {
        assert!(readable("use (;\npub fn one() {}\n", &["one"]).is_err());
        let text = stand_in(None, SHIPPED, &Broken::default());
        assert_eq!(text, SHIPPED);
    }
}
