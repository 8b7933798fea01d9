//! Planted faults on a lesson of a few lines, built by real cargo: every verdict that a fault can get.

use course::faults::plan::Plan;
use course::faults::{self, Found, Outcome};
use course::page::Page;

use crate::tiny;
use crate::tree::{Tree, narrow};

/// A test that watches the sum of squares, one that watches nothing, and one that fails anyway.
const PARITY: &str = r#"//! Tests.
#[test]
fn squares_are_summed() {
    assert!(tiny::EXTRA);
    assert_eq!(tiny::sums::squares(&[1, 2]), 5, "squares of 1 and 2");
}

#[test]
fn nothing_is_watched() {
    let _ = tiny::sums::squares(&[1]);
}

#[test]
fn a_wrong_test() {
    assert_eq!(tiny::sums::squares(&[3]), 8, "it is 9");
}
"#;

const SUMMED: (&str, &str) = ("x.iter().map", "x.iter().skip(1).map");

fn fault(id: &str, (find, replace): (&str, &str), filter: &str) -> String {
    format!(
        "[[faults]]\nid = \"{id}\"\nwhat = \"what {id} is\"\nfile = \"src/sums.rs\"\nfind = '{find}'\nreplace = '{replace}'\ntest = \"parity\"\nfilter = \"{filter}\"\n"
    )
}

fn tree(faults: &[String]) -> Tree {
    let tree = tiny::tree();
    tree.write("lessons/05-tiny/tests/parity.rs", PARITY);
    tree.write("lessons/05-tiny/faults.toml", faults.concat());
    let plan = Plan::read(&tree.course, "05", &tree.path("lessons/05-tiny")).unwrap();
    let rows: Vec<String> = plan.faults.iter().map(|fault| plan.row(fault)).collect();
    tree.write("lessons/05-tiny/README.md", rows.join("\n"));
    tree
}

fn one<'a>(outcome: &'a Outcome, id: &str) -> &'a Found {
    outcome.faults.iter().find(|found| found.id == id).unwrap()
}

#[test]
fn a_fault_that_its_test_sees_is_caught() {
    let tree = tree(&[fault("first-left-out", SUMMED, "squares_are")]);
    let outcome = faults::faults(&tree.course, &[]).unwrap();
    assert!(outcome.is_good(), "{outcome:?}");
    let told = &one(&outcome, "first-left-out").told;
    assert_eq!(told, "parity: squares_are_summed: squares of 1 and 2");
    let page = faults::render(&outcome, &Page::plain());
    narrow(&page);
    assert!(page.contains("Caught: 1 of 1"), "{page}");
    // The lesson's own text is as it was, and nothing lies beside it.
    let source = std::fs::read_to_string(tree.path("lessons/05-tiny/src/sums.rs")).unwrap();
    assert_eq!(source, tiny::SUMS);
}

/// Everything that can be wrong with a list of faults. One that does not compile has the others built alone.
#[test]
fn a_fault_that_is_not_caught_or_not_tried_is_told() {
    let all = [
        fault("unseen", SUMMED, "nothing_is"),
        fault("gone", ("no such text", "x"), "squares_are"),
        fault("no-rust", ("x.iter().map", "x.iter().no_such.map"), "squares_are"),
        fault("no-test", SUMMED, "no_such_test"),
        fault("fails-anyway", SUMMED, "a_wrong_test"),
    ];
    let tree = tree(&all);
    let page = std::fs::read_to_string(tree.path("lessons/05-tiny/README.md")).unwrap();
    let page = page.replace("what no-test is", "something else");
    tree.write("lessons/05-tiny/README.md", page);
    let outcome = faults::faults(&tree.course, &["05".to_owned()]).unwrap();
    for (id, expected) in [
        ("unseen", "parity: passes"),
        ("gone", "has changed: the text to find is not in it"),
        ("no-rust", "it does not compile: "),
        ("no-test", "no test of parity has \"no_such_test\""),
        ("fails-anyway", "fails without a fault: a_wrong_test: it is 9"),
    ] {
        let found = one(&outcome, id);
        assert!(!found.caught && found.told.contains(expected), "{found:?}");
    }
    assert_eq!(outcome.problems.len(), 1);
    assert!(outcome.problems[0].contains("lacks no-test"), "{outcome:?}");
    let page = faults::render(&outcome, &Page::plain());
    narrow(&page);
    assert!(page.contains("Caught: 0 of 5"), "{page}");
    assert!(page.contains("Not caught: 05 unseen, 05 gone, "), "{page}");
}

/// A fault in a constant can have no switch, and is built alone beside one that has.
#[test]
fn a_fault_outside_of_a_function_is_caught_too() {
    let constant = fault("constant", ("EXTRA: bool = true", "EXTRA: bool = false"), "squares_are");
    let tree = tree(&[
        fault("first-left-out", SUMMED, "squares_are"),
        constant.replace("sums.rs", "lib.rs"),
    ]);
    let outcome = faults::faults(&tree.course, &[]).unwrap();
    assert!(outcome.is_good(), "{outcome:?}");
    let told = &one(&outcome, "constant").told;
    assert_eq!(told, "parity: squares_are_summed: assertion failed: tiny::EXTRA");
}

#[test]
fn a_lesson_without_a_list_says_so() {
    let tree = tiny::tree();
    let error = faults::faults(&tree.course, &["05".to_owned()]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("lesson 05 has no list of faults"), "{text}");
    let error = faults::faults(&tree.course, &[]).unwrap_err().to_string();
    assert!(error.contains("no lesson has a list of faults"), "{error}");
}
