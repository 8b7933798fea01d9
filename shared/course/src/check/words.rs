//! Failed tests in the lesson's words: what each claims, why, what was found, and the wrong idea behind them.

use syn::{Attribute, Expr, Item, Lit, Meta};

use super::groups::Ran;
use super::report::Failure;
use crate::exercise::{Exercise, Idea};
use crate::source::functions;
use crate::twin::{Owner, Twin};

/// The failed tests of a group, in the order of the file, which goes from the smallest case up.
pub fn failures(twin: &Twin, exercise: &Exercise, ran: &Ran, tests: &str) -> Vec<Failure> {
    let docs = docs(tests, &exercise.group);
    let place = |test: &str| docs.iter().position(|(name, _)| name == test).unwrap_or(usize::MAX);
    let mut found: Vec<Failure> = Vec::new();
    for failed in &ran.failed {
        let test = short(&failed.name);
        let why = docs.iter().find(|(name, _)| name == test);
        found.push(Failure {
            test: test.to_owned(),
            claim: test.replace('_', " "),
            why: why.map_or(String::new(), |(_, text)| text.clone()),
            message: failed.message.clone(),
            at: failed
                .at
                .as_ref()
                .and_then(|(file, line)| learners_place(twin, file, *line)),
        });
    }
    found.sort_by_key(|failure| place(&failure.test));
    found
}

/// The ideas of an exercise that explain this run: all tests of `fails` failed, all of `passes` passed, and the first
/// message contains `message`. A test that was cut off tells nothing, so no idea explains a run with one. Nor does a
/// panic inside the learner's own function answer what a test asks, unless the idea names its message.
pub fn ideas<'a>(exercise: &'a Exercise, ran: &Ran, failures: &[Failure]) -> Vec<&'a Idea> {
    let Some(first) = failures.first() else {
        return Vec::new();
    };
    if ran.failed.iter().any(|failed| failed.was_cut) {
        return Vec::new();
    }
    let fails = |idea: &Idea, test: &String| {
        let failure = failures.iter().find(|failure| failure.test == *test);
        failure.is_some_and(|failure| failure.at.is_none() || !idea.message.is_empty())
    };
    let passes = |test: &String| ran.passed.iter().any(|name| short(name) == test);
    let explains = |idea: &&Idea| {
        !idea.fails.is_empty()
            && idea.fails.iter().all(|test| fails(idea, test))
            && idea.passes.iter().all(passes)
            && first.message.contains(&idea.message)
    };
    exercise.ideas.iter().filter(explains).collect()
}

/// Moves the failure that an idea is told by to the front: that of its first test, so that the text about the idea
/// speaks of the numbers above it. An idea that is told by a message keeps the failure that has the message.
pub fn show_first(failures: &mut [Failure], idea: &Idea) {
    let told_by = |failure: &Failure| Some(&failure.test) == idea.fails.first();
    if idea.message.is_empty()
        && let Some(index) = failures.iter().position(told_by)
    {
        failures[..=index].rotate_right(1);
    }
}

/// The name of a test without its group.
fn short(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or_default()
}

/// `work/lesson05/src/kernels.rs:12`, when the panic was in a learner's file. A body that `verify` planted counts as
/// one.
fn learners_place(twin: &Twin, file: &str, line: usize) -> Option<String> {
    let path = super::build::absolute(&twin.work, file);
    let planted = if twin.owner == Owner::Verify {
        ".fill"
    } else {
        ".fallback"
    };
    for folder in ["src", ".fallback", planted] {
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

/// Whether a group of a question knows the right option: it asserts its number, or asks for the question by its id in a
/// file of tests that reads `course.toml`.
pub fn knows_the_answer(tests: &str, exercise: &Exercise) -> bool {
    let Some(code) = functions::module_code(tests, &exercise.group) else {
        return false;
    };
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let wanted = digits(exercise.right_option());
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
            exercise::parse(&text, "05", "05-x", "course.toml")
                .unwrap()
                .exercises
                .remove(0)
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
