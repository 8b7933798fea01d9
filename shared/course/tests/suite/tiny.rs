//! A lesson of a few lines with an exercise of every kind, in a tree that real cargo builds in a second.

use course::tools::Program;

use crate::tree::Tree;

pub const ROOT: &str = r#"[workspace]
resolver = "3"
members = ["lessons/*"]
exclude = ["work"]

[workspace.package]
version = "0.1.0"
edition = "2024"

[workspace.dependencies]

[workspace.lints.rust]
unused_must_use = "deny"

[profile.dev]
debug = "line-tables-only"

[profile.test.package.lesson05]
overflow-checks = true
"#;

pub const LOCK: &str =
    "version = 4\n\n[[package]]\nname = \"lesson05\"\nversion = \"0.1.0\"\ndependencies = [\n \"lesson05\",\n]\n";

pub const MANIFEST: &str = r#"[package]
name = "lesson05"
version.workspace = true
edition.workspace = true

[lib]
name = "tiny"

[lints]
workspace = true

[features]
extra = []

[dev-dependencies]
# Itself, with a feature for its own tests: a twin and a copy leave that out.
with_extra = { package = "lesson05", path = ".", features = ["extra"] }
"#;

pub const COURSE: &str = r#"lesson = "05"
title = "Tiny"

[[exercises]]
id = "05.1"
title = "Sum of squares"
function = "sums::squares"
group = "ex_05_1_squares"
minutes = 5
difficulty = 1
learned = "Squares add up."
hints = ["a", "b", "c"]
[[exercises.ideas]]
name = "The sum is squared"
says = "(a + b)² is more than a² + b²."
fails = ["each_number_is_squared_by_itself"]
passes = ["no_numbers_give_zero", "one_number_is_squared"]
message = "squares of [1, 2]"
body = "square(x.iter().sum())"
[[exercises.others]]
what = "one is added"
fault = [{ find = ".sum()", replace = ".sum::<u32>() + 1" }]
[[exercises.others]]
what = "nothing is squared"
fault = [{ find = "square(*x)", replace = "*x" }]

[[exercises]]
id = "05.2"
kind = "mend"
title = "Mend the mean"
function = "sums::mean"
group = "ex_05_2_mean"
minutes = 5
difficulty = 2
learned = "An empty list has no mean."
hints = ["a", "b", "c"]
[[exercises.others]]
what = "the sum"
body = "x.iter().sum()"
[[exercises.others]]
what = "one by default"
fault = [{ find = "unwrap_or(0)", replace = "unwrap_or(1)" }]

[[exercises]]
id = "05.3"
kind = "catch"
title = "Catch the lazy sorter"
function = "deep::cases::lists"
group = "ex_05_3_lists"
minutes = 5
difficulty = 3
learned = "A sorted list catches nothing."
hints = ["a", "b", "c"]

[[exercises]]
id = "05.4"
kind = "predict"
title = "How many steps"
question = "Steps?"
options = ["3", "6"]
answer = 1
because = "1 + 2 + 3."
answers = ["That is one a number.", ""]
group = "ex_05_4_steps"
minutes = 1
difficulty = 1
learned = "Triangles."
hints = ["a", "b", "c"]

[[predictions]]
id = "spread"
question = "How far apart?"
unit = "squares"
within = 1.5
because = "It is computed."
"#;

pub const LIB: &str = "//! Tiny.\n\nmod deep;\npub mod given;\npub mod sums;\n\npub use deep::cases::lists;\n\n/// Only with the feature.\n#[cfg(feature = \"extra\")]\npub const EXTRA: bool = true;\n\n/// Uses both.\npub fn spread(x: &[u32]) -> u32 {\n    sums::squares(x) - sums::mean(x)\n}\n";

pub const SUMS: &str = r#"//! Sums.

use crate::given::square;

/// The squares of all numbers, added up.
pub fn squares(x: &[u32]) -> u32 {
    assert!(x.len() < 100, "few numbers");
    // ANCHOR: ex_05_1
    x.iter().map(|x| square(*x)).sum()
    // ANCHOR_END: ex_05_1
}

/// The mean, rounded down; 0 for no numbers.
pub fn mean(x: &[u32]) -> u32 {
    // ANCHOR: ex_05_2
    //~ fault 05.2
    //~ | x.iter().sum::<u32>() / x.len() as u32
    x.iter().sum::<u32>().checked_div(x.len() as u32).unwrap_or(0)
    //~ end
    // ANCHOR_END: ex_05_2
}
"#;

pub const CASES: &str = "//! Cases.\n\n/// Lists for a sorter.\npub fn lists() -> Vec<Vec<u8>> {\n    // ANCHOR: ex_05_3\n    vec![vec![2, 1], vec![1, 1]]\n    // ANCHOR_END: ex_05_3\n}\n";

pub const TESTS: &str = r#"//! Tests.

/// 05.1
mod ex_05_1_squares {
    use tiny::sums::squares;

    #[test]
    fn no_numbers_give_zero() {
        assert_eq!(squares(&[]), 0);
    }

    #[test]
    fn one_number_is_squared() {
        assert_eq!(squares(&[3]), 9);
    }

    /// One plus four.
    #[test]
    fn each_number_is_squared_by_itself() {
        assert_eq!(squares(&[1, 2]), 5, "squares of [1, 2]");
    }
}

mod ex_05_2_mean {
    #[test]
    fn an_empty_list_has_the_mean_zero() {
        assert_eq!(tiny::sums::mean(&[]), 0);
        assert_eq!(tiny::sums::mean(&[2, 4]), 3);
    }
}

mod ex_05_3_lists {
    #[test]
    fn the_lazy_sorter_is_caught() {
        let sorts = |f: fn(&mut Vec<u8>)| {
            tiny::lists().into_iter().all(|mut list| {
                f(&mut list);
                list.is_sorted()
            })
        };
        assert!(sorts(|list| list.sort()), "a right sorter passes");
        assert!(!sorts(|_| ()), "the sorter that does nothing was not caught");
    }
}

mod ex_05_4_steps {
    #[test]
    fn steps_add_up() {
        assert_eq!((1..=3).sum::<u32>(), 6);
    }
}

mod whole {
    #[test]
    fn both_together() {
        assert_eq!(tiny::spread(&[1, 3]), 8);
    }
}
"#;

/// The tree with this lesson and real cargo.
pub fn tree() -> Tree {
    let mut tree = Tree::new();
    tree.course.cargo = Program::new("cargo").arg("--offline");
    for (path, text) in [
        ("Cargo.toml", ROOT),
        ("Cargo.lock", LOCK),
        ("lessons/05-tiny/Cargo.toml", MANIFEST),
        ("lessons/05-tiny/course.toml", COURSE),
        ("lessons/05-tiny/src/lib.rs", LIB),
        ("lessons/05-tiny/src/sums.rs", SUMS),
        (
            "lessons/05-tiny/src/given.rs",
            "//! Given.\n\n/// Squared.\npub fn square(x: u32) -> u32 {\n    x * x\n}\n",
        ),
        (
            "lessons/05-tiny/src/deep/mod.rs",
            "//! Deep.\npub mod cases;\nmod other;\n\n/// Other.\npub use other::one;\n",
        ),
        ("lessons/05-tiny/src/deep/cases.rs", CASES),
        (
            "lessons/05-tiny/src/deep/other.rs",
            "//! Other.\n\n/// One.\npub fn one() -> u8 {\n    1\n}\n",
        ),
        (
            "lessons/05-tiny/src/main.rs",
            "//! The story.\nfn main() {\n    println!(\"spread {}\", tiny::spread(&[1, 3]));\n}\n",
        ),
        ("lessons/05-tiny/tests/exercises.rs", TESTS),
        ("book/src/05-tiny.md", "05.1 05.2 05.3 05.4\n"),
    ] {
        tree.write(path, text);
    }
    tree
}
