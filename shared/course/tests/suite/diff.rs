//! `diff NN`: a lesson beside what it takes the place of.

use course::error::CourseError;
use course::state::State;
use course::tools::Course;
use course::{diff, lessons};

use crate::tree::{Tree, narrow};
use course::page::Page;

use crate::workbook::{contains, workbook};

const PAGE: Page = Page { has_color: false };

const OLD: &str = "//! The loop.\n\nuse std::fmt;\n\n/// Every token anew.\npub fn tokens(n: u32) -> u32 {\n    let kept = 0;\n    (1..=n).sum::<u32>() + kept\n}\n";

const NEW: &str = "//! The cached loop.\n\n/// Each token once. Supersedes [`generation::naive::tokens`]: fewer rows.\npub fn tokens(n: u32) -> u32 {\n    let kept = 0;\n    // ANCHOR: ex_06_1\n    n + kept\n    // ANCHOR_END: ex_06_1\n}\n";

/// A module that supersedes the module of a method.
const MODEL: &str = "//! Supersedes [`generation::model::Kernels::run`].\n\nuse generation::Kernels;\n\n/// Runs.\npub fn run() -> u8 {\n    2\n}\n";

const SIX: &str = "lesson = \"06\"\nlib = \"cache\"\ntitle = \"Cache\"\n\n[[exercises]]\nid = \"06.1\"\ntitle = \"Once\"\nfunction = \"cached::tokens\"\ngroup = \"ex_06_1_once\"\n";

fn two_lessons() -> Tree {
    let tree = workbook();
    for (path, text) in [
        ("lessons/05-generation/Cargo.toml", "[lib]\nname = \"generation\"\n"),
        ("lessons/05-generation/src/exercises/naive.rs", OLD),
        (
            "lessons/05-generation/src/naive.rs",
            "//! Shown here.\n\npub use crate::exercises::naive::tokens;\n",
        ),
        (
            "lessons/05-generation/src/model.rs",
            "//! A model.\n\n/// A type.\npub struct Kernels;\n\nimpl Kernels {\n    /// Runs.\n    pub fn run() -> u8 {\n        1\n    }\n}\n",
        ),
        ("lessons/06-cache/Cargo.toml", "[lib]\nname = \"cache\"\n"),
        ("lessons/06-cache/course.toml", SIX),
        (
            "lessons/06-cache/src/lib.rs",
            "//! Map.\n\npub mod cached;\npub mod model;\n",
        ),
        ("lessons/06-cache/src/cached.rs", NEW),
        ("lessons/06-cache/src/model.rs", MODEL),
    ] {
        tree.write(path, text);
    }
    tree
}

#[test]
fn a_lesson_is_compared_with_what_it_replaces_and_tells_no_answer() {
    let tree = two_lessons();
    let shown = diff::show(&tree.course, "6", false, &PAGE).unwrap();
    narrow(&shown);
    contains(
        &shown,
        &[
            "- generation::exercises::naive::tokens",
            "lessons/05-generation/src/exercises/naive.rs",
            "+ cache::cached::tokens",
            "+ todo!(\"06.1 Once\")",
            "- (1..=n).sum::<u32>() + kept",
            "- generation::model",
            "+ cache::model",
            "the bodies of 06.1",
        ],
    );
    assert!(!shown.contains(" n + kept"), "{shown}");
    assert!(!shown.contains("///") && !shown.contains("use std"), "{shown}");
    assert!(State::load(&tree.course).unwrap().progress("06.1").passed_at.is_none());
}

#[test]
fn after_a_give_up_all_of_it_is_shown() {
    let tree = two_lessons();
    let shown = diff::show(&tree.course, "06", true, &PAGE).unwrap();
    contains(&shown, &["+ n + kept"]);
    assert!(!shown.contains("Left out"), "{shown}");
    assert!(State::load(&tree.course).unwrap().progress("06.1").gave_up);
}

/// What the real lessons name is found.
#[test]
fn every_lesson_that_replaces_something_can_be_compared() {
    let course = Course::from_env();
    for folder in lessons::folders(&course).unwrap() {
        let number = lessons::number_of(&folder).unwrap();
        match diff::show(&course, &number, false, &PAGE) {
            Ok(_) | Err(CourseError::NotNow { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_name_that_is_nowhere_is_an_error() {
    let tree = two_lessons();
    tree.write(
        "lessons/06-cache/src/model.rs",
        "//! Supersedes [`generation::gone::nothing`].\n",
    );
    let error = diff::show(&tree.course, "06", false, &PAGE).unwrap_err().to_string();
    assert_eq!(
        error,
        "lessons/06-cache/src/model.rs: it supersedes generation::gone::nothing, which no lesson has"
    );
}
