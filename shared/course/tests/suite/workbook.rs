//! A workbook with one lesson of two functions and a question. Nothing is built: what a check finds is put in by hand.

use course::page::Page;
use course::state::State;

use crate::tree::{Tree, narrow};

const COURSE: &str = r#"
lesson = "05"
lib = "generation"
title = "Generation"
question = "Why does each token cost more?"
layer = "inference"

[[exercises]]
id = "05.7"
kind = "predict"
title = "How many rows"
question = "64 tokens after a prompt of 12: how many rows are computed?"
options = ["64", "75", "2784"]
answer = 2
because = "Nothing is kept: 12 + 13 + … + 75."
answers = ["Rows of the prompt are computed too.", "That many would do if they were kept.", ""]
learned = "The loop computes every row again."
minutes = 5
difficulty = 1

[[exercises]]
id = "05.1"
title = "RMSNorm"
function = "kernels::rms_norm"
group = "ex_05_1_rms_norm"
minutes = 15
difficulty = 1
learned = "A norm needs one pass for the size and one for the product."
hints = ["First.", "Second.", "`let scale = …`"]

[[exercises]]
id = "05.5"
kind = "mend"
title = "Characters split over tokens, with a title that is long"
function = "kernels::take"
group = "ex_05_5_take"
minutes = 30
difficulty = 2
core = false
hints = ["One.", "Two.", "Three."]
"#;

const KERNELS: &str = r#"//! Two functions.

/// Scales a row.
pub fn rms_norm(x: &[f32], out: &mut [f32]) {
    assert!(x.len() == out.len());
    // ANCHOR: ex_05_1
    for (out, x) in out.iter_mut().zip(x) {
        *out = *x;
    }
    // ANCHOR_END: ex_05_1
}

/// Takes.
pub fn take(text: &str) -> usize {
    // ANCHOR: ex_05_5
    //~ fault 05.5
    //~ | 0
    text.len()
    //~ end
    // ANCHOR_END: ex_05_5
}
"#;

/// A workbook with one lesson, which is not started.
pub fn workbook() -> Tree {
    let tree = Tree::new();
    tree.write(
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"lessons/*\"]\n[workspace.package]\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    tree.write(
        "lessons/05-generation/Cargo.toml",
        "[package]\nname = \"lesson05\"\nversion.workspace = true\nedition.workspace = true\n[lib]\nname = \"generation\"\n",
    );
    tree.write("lessons/05-generation/course.toml", COURSE);
    tree.write(
        "lessons/05-generation/src/lib.rs",
        "//! The lesson.\n\npub mod kernels;\n",
    );
    tree.write("lessons/05-generation/src/kernels.rs", KERNELS);
    tree.write(
        "lessons/05-generation/tests/exercises.rs",
        "mod ex_05_1_rms_norm {\n    #[test]\n    fn scales() {}\n}\nmod ex_05_5_take {}\n",
    );
    tree
}

pub fn started() -> Tree {
    let tree = workbook();
    course::start::start(&tree.course, "05", &Page::plain()).unwrap();
    tree
}

/// As a check of a right body does.
pub fn pass(tree: &Tree, id: &str) {
    State::update(&tree.course, |state| state.exercise(id).checked(true, "body")).unwrap();
}

#[track_caller]
pub fn contains(page: &str, parts: &[&str]) {
    narrow(page);
    // A sentence may be broken anywhere.
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(flat.contains(part), "{part:?} is not in:\n{page}");
    }
}
