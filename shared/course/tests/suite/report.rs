//! A class: `report` over several learners' folders.

use std::path::PathBuf;

use course::page::Page;
use course::predict;
use course::report;
use course::state::State;

use crate::workbook::{pass, started, workbook};

#[test]
fn each_learner_has_a_line_for_each_exercise_and_trouble_has_one_too() {
    let anna = started();
    pass(&anna, "05.1");
    predict::answer(&anna.course, "05.7", Some("b"), &Page::plain()).unwrap();
    let class = workbook();
    let folder = |name: &str| class.path(&format!("class/{name}"));
    let copy = |name: &str| {
        let text = std::fs::read(anna.path("work/course.json")).unwrap();
        class.write(&format!("class/{name}/course.json"), text);
    };
    copy("anna/work");
    copy("bo, =the second/work");
    class.write("class/cut off/work/course.json", "{\"schema\": 1, ");
    class.write("class/new/README.md", "nothing yet");
    class.write("class/later/work/course.json", "{\"schema\": 99}");
    let given: Vec<PathBuf> = ["anna", "bo, =the second/work", "cut off", "new", "later", "missing"]
        .map(folder)
        .into();
    let learners = report::collect(&class.course, &given, None).unwrap();

    let csv = report::csv(&learners, false);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + 3 + 3 + 4, "{csv}");
    assert!(
        lines[1].starts_with("anna,05.7,How many rows,predict,yes,failing,1,0,no,75,no,20"),
        "{csv}"
    );
    assert!(
        lines[2].starts_with("anna,05.1,RMSNorm,write,yes,passed,1,0,no,,,20"),
        "{csv}"
    );
    assert!(
        lines[3]
            .starts_with("anna,05.5,\"Characters split over tokens, with a title that is long\",mend,no,open,0,0,no"),
        "{csv}"
    );
    assert!(lines[4].starts_with("\"bo, =the second\",05.7,"), "{csv}");
    let problem = |at: usize| lines[at].rsplit(",,").next().unwrap();
    assert!(
        problem(7).contains("course.json can not be read: EOF while parsing"),
        "{csv}"
    );
    assert!(problem(8).contains("nothing was started here"), "{csv}");
    assert!(problem(9).contains("it has schema 99"), "{csv}");
    assert!(problem(10).contains("there is no such folder"), "{csv}");

    let sums = report::csv(&learners, true);
    assert!(sums.contains("\nanna,05,1,2,0,1,2,0,0,1,\n"), "{sums}");
    assert_eq!(sums.lines().count(), 1 + 1 + 1 + 4, "{sums}");
    let json = serde_json::to_value(&learners).unwrap();
    assert_eq!(json[0]["exercises"][1]["status"], "passed");
    assert!(json[3]["problem"].is_string());
    assert!(
        !class.has("class/cut off/work/backup"),
        "nothing is written into a learner's folder"
    );
}

#[test]
fn a_report_on_one_lesson_leaves_the_others_out() {
    let anna = started();
    State::update(&anna.course, |state| state.exercise("06.1").hints = 2).unwrap();
    let of = |lesson: Option<&str>| report::collect(&anna.course, &[anna.path("")], lesson).unwrap();
    assert_eq!(of(None)[0].exercises.len(), 3 + 1);
    assert_eq!(of(Some("05"))[0].exercises.len(), 3);
    assert!(report::csv(&of(Some("05")), true).lines().count() == 2);
}

#[test]
fn learners_of_one_name_are_told_apart_by_their_folders() {
    let class = workbook();
    for group in ["a", "b"] {
        class.write(&format!("{group}/max/work/course.json"), "{\"schema\": 1}");
    }
    let given = [class.path("a/max"), class.path("b/max")];
    let learners = report::collect(&class.course, &given, None).unwrap();
    assert_ne!(learners[0].learner, learners[1].learner);
    assert!(learners[0].learner.ends_with("a/max"));
}
