//! How a report is printed: every status within 80 columns, in words that say what to do.

use course::check::render::render;
use course::check::{Checked, Cost, Diagnostic, Failure, Idea, Report, Status};
use course::exercise;
use course::page::Page;
use course::state::State;
use insta::assert_snapshot;

use crate::tree::narrow;
use crate::workbook::workbook;

fn one(id: &str, status: Status) -> Checked {
    let tree = workbook();
    let exercise = exercise::find(&tree.course, id).unwrap();
    let mut checked = Checked::new(&exercise, "work/lesson05/src/kernels.rs".into(), status);
    checked.line = Some(5);
    checked.num_tests = 4;
    checked
}

fn report(exercises: Vec<Checked>) -> Report {
    Report {
        schema: 1,
        lesson: "05".into(),
        exercises,
        next: Some("cargo course check 05.1".into()),
    }
}

fn page(exercises: Vec<Checked>) -> String {
    let page = render(&report(exercises), &State::default(), &Page::plain());
    narrow(&page);
    page
}

fn failure(test: &str) -> Failure {
    Failure {
        test: test.into(),
        claim: test.replace('_', " "),
        why: "The mean of the squares is taken over the whole row, and added to `eps` before the root.".into(),
        message: format!(
            "row [1, 2, 3]: expected out[0] = 0.46, found 1\n  x   [3]  1  2  3\n{}",
            "far ".repeat(30)
        ),
        at: None,
    }
}

#[test]
fn a_failure_names_the_wrong_idea_and_the_page() {
    let idea = Idea {
        name: "The mean is subtracted".into(),
        says: "That is LayerNorm. RMSNorm only divides by the size of the row, so a row of equal numbers does not become zeros.".into(),
    };
    let failures = vec![failure("a_row_of_ones_stays"), failure("the_mean_stays")];
    let idea = Some(idea);
    assert_snapshot!(page(vec![one("05.1", Status::Failed { failures, idea })]));
}

#[test]
fn a_pass_says_what_was_learned_and_what_it_cost() {
    let mut checked = one("05.1", Status::Passed);
    checked.learned = "A norm needs one pass for the size and one for the product.".into();
    let cost = |counter: &str, yours, reference| Cost {
        what: "one row of 256".into(),
        counter: counter.into(),
        yours,
        reference,
    };
    checked.costs = vec![
        cost("multiply_adds", 131_072, 65_536),
        cost("allocations", 3, 0),
        cost("bytes", 0, 0),
    ];
    assert_snapshot!(page(vec![checked]));
}

#[test]
fn a_lesson_is_a_table_and_then_what_is_new_or_wrong_first() {
    let failures = vec![failure("a_row_of_ones_stays")];
    let text = page(vec![
        one("05.7", Status::Question),
        one("05.1", Status::Passed),
        one("05.5", Status::Failed { failures, idea: None }),
    ]);
    assert_snapshot!(text);
}

#[test]
fn every_other_state_says_what_to_do() {
    let long = "pub fn rms_norm(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32], extra: &mut Vec<(usize, f32)>)";
    let (expected, found) = (long.to_owned(), long.replace("f32, out", "f64, out"));
    let errors = vec![Diagnostic {
        file: "work/lesson05/src/kernels.rs".into(),
        line: 7,
        message: "mismatched types".into(),
        rendered: "error[E0308]: mismatched types\n --> work/lesson05/src/kernels.rs:7:5\n  |\n7 |     x\n  |     ^ expected `f32`, found `&[f32]`, and here is a remark that goes far beyond the edge".into(),
    }];
    let states = vec![
        Status::NotWritten,
        Status::Deleted,
        Status::FileMissing,
        Status::SignatureChanged {
            expected: expected.clone(),
            found: found.clone(),
        },
        Status::LessonChanged {
            before: expected,
            now: found,
        },
        Status::DoesNotCompile { errors },
        Status::TimedOut {
            seconds: 30,
            test: "a_row_of_ones_stays".into(),
        },
        Status::Broken {
            problem: "lessons/05-generation/src/kernels.rs: `// ANCHOR: ex_05_1` is missing".into(),
        },
    ];
    let mut all = String::new();
    for status in states {
        let mut checked = one("05.1", status);
        checked.tests_changed = all.is_empty();
        all += &page(vec![checked]);
        all += "\n";
    }
    all += &page(vec![one("05.5", Status::NotTouched)]);
    all += &page(vec![one("05.7", Status::Question)]);
    assert_snapshot!(all);
}
