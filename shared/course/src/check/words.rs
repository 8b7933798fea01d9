//! A failed test in the lesson's words: what it claims, why, what was found, and the wrong idea behind it.

use syn::{Attribute, Expr, Item, Lit, Meta};

use super::groups::Failed;
use super::report::Failure;
use crate::exercise::Exercise;
use crate::source::functions;
use crate::twin::Twin;

/// The failures of a group: those of a named wrong idea first, in the order of `course.toml`.
pub fn failures(twin: &Twin, exercise: &Exercise, failed: &[Failed], tests: &str) -> Vec<Failure> {
    let docs = docs(tests, &exercise.group);
    let mut found: Vec<(usize, Failure)> = Vec::new();
    for failed in failed {
        let test = failed.name.rsplit("::").next().unwrap_or_default();
        let at = failed
            .at
            .as_ref()
            .and_then(|(file, line)| learners_place(twin, file, *line));
        // A panic in the learner's own code is not an answer to the test's question.
        let idea = exercise
            .ideas
            .iter()
            .enumerate()
            .find(|(_, idea)| at.is_none() && idea.test == test);
        let why = docs.iter().find(|(name, _)| name == test);
        let failure = Failure {
            test: test.to_owned(),
            claim: test.replace('_', " "),
            why: why.map_or(String::new(), |(_, text)| text.clone()),
            message: failed.message.clone(),
            at,
            idea: idea.map(|(_, idea)| idea.clone()),
        };
        let rank = idea.map_or(usize::MAX, |(index, _)| index);
        found.push((rank, failure));
    }
    // Otherwise the order of the file, which goes from the smallest case up.
    let order = |failure: &Failure| {
        docs.iter()
            .position(|(name, _)| *name == failure.test)
            .unwrap_or(usize::MAX)
    };
    found.sort_by_key(|(rank, failure)| (*rank, order(failure)));
    found.into_iter().map(|(_, failure)| failure).collect()
}

/// `work/lesson05/src/kernels.rs:12`, when the panic was in a learner's file.
fn learners_place(twin: &Twin, file: &str, line: usize) -> Option<String> {
    let path = super::build::absolute(&twin.work, file);
    for folder in ["src", ".fallback"] {
        if let Ok(inside) = path.strip_prefix(twin.folder.join(folder)) {
            let path = twin.folder.join("src").join(inside);
            return Some(format!("{}:{line}", twin.shown(&path)));
        }
    }
    None
}

/// The tests of a group with the prose above each, in the order of the file.
pub fn docs(tests: &str, group: &str) -> Vec<(String, String)> {
    let Ok(file) = syn::parse_file(tests) else {
        return Vec::new();
    };
    let group = file.items.iter().find_map(|item| match item {
        Item::Mod(item) if item.ident == group => item.content.as_ref(),
        _ => None,
    });
    let Some((_, items)) = group else {
        return Vec::new();
    };
    let tests = items.iter().filter_map(|item| match item {
        Item::Fn(item) if item.attrs.iter().any(|a| a.path().is_ident("test")) => {
            Some((item.sig.ident.to_string(), prose(&item.attrs)))
        }
        _ => None,
    });
    tests.collect()
}

/// The documentation of an item as one paragraph.
fn prose(attributes: &[Attribute]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for attribute in attributes {
        if let Meta::NameValue(meta) = &attribute.meta
            && meta.path.is_ident("doc")
            && let Expr::Lit(text) = &meta.value
            && let Lit::Str(text) = &text.lit
        {
            lines.push(text.value().trim().to_owned());
        }
    }
    lines.join(" ").trim().to_owned()
}

/// Whether a group of a question knows the right option: it asserts its number, or asks for the question by its id in a file of tests
/// that reads `course.toml`.
pub fn knows_the_answer(tests: &str, exercise: &Exercise) -> bool {
    let Some(code) = functions::module_code(tests, &exercise.group) else {
        return false;
    };
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let wanted = digits(&exercise.options[exercise.answer]);
    let plain = code.replace('_', "");
    let has_number = !wanted.is_empty()
        && plain
            .split(|c: char| !c.is_ascii_digit())
            .any(|number| number == wanted);
    has_number || tests.contains("course.toml") && code.contains(&format!("\"{}\"", exercise.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise;

    const TESTS: &str = "mod ex_05_1_a {\n    fn help() {}\n    /// Why\n    /// so.\n    #[test]\n    fn first() { assert_eq!(2_784, 1) }\n    #[test]\n    fn second() {}\n}\n";

    #[test]
    fn tests_come_with_their_prose_in_order() {
        let expected = [("first", "Why so."), ("second", "")];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(docs(TESTS, "ex_05_1_a"), expected);
        assert_eq!(docs(TESTS, "ex_05_2_b"), []);
    }

    #[test]
    fn a_group_knows_the_number_that_it_asserts_or_asks_for_the_question() {
        let question = |id: &str, group: &str, right: &str| {
            let text = format!(
                "[[exercises]]\nid = \"{id}\"\ntitle = \"T\"\nkind = \"predict\"\ngroup = \"{group}\"\nquestion = \"?\"\noptions = [\"1\", \"{right}\"]\nanswer = 1\n"
            );
            exercise::parse(&text, "05", "05-x", "course.toml").unwrap().remove(0)
        };
        let asked = TESTS.to_owned()
            + "mod ex_05_2_b { #[test] fn t() { ask(\"05.2\") } }\nfn ask(id: &str) { include_str!(\"../course.toml\"); }\n";
        assert!(knows_the_answer(TESTS, &question("05.1", "ex_05_1_a", "2 784 rows")));
        assert!(!knows_the_answer(TESTS, &question("05.1", "ex_05_1_a", "75")));
        assert!(knows_the_answer(
            &asked,
            &question("05.2", "ex_05_2_b", "only the checksum")
        ));
        assert!(!knows_the_answer(
            &asked,
            &question("05.3", "ex_05_2_b", "only the checksum")
        ));
    }
}
