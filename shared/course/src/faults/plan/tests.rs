//! Planting, and lists that say too little.

use super::*;

fn plan(text: &str) -> (tempfile::TempDir, Plan, Fault) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.rs"), text).unwrap();
    let fault = Fault {
        id: "one".into(),
        what: "one too many".into(),
        file: "a.rs".into(),
        find: "a + 1".into(),
        replace: "a + 2".into(),
        test: "lib".into(),
        filter: String::new(),
    };
    let plan = Plan {
        number: "05".into(),
        lesson: folder.path().to_owned(),
        shown: "lessons/05-x".into(),
        faults: vec![fault.clone()],
    };
    (folder, plan, fault)
}

#[test]
fn a_fault_is_planted_where_its_text_stands_once() {
    let (_folder, plan, fault) = plan("let b = a + 1;\nlet c = a - 1;\n");
    assert_eq!(plan.planted(&fault).unwrap(), "let b = a + 2;\nlet c = a - 1;\n");
}

#[test]
fn a_text_that_is_gone_or_stands_twice_is_told() {
    let (_folder, gone, fault) = plan("let b = a;\n");
    let error = gone.planted(&fault).unwrap_err();
    assert_eq!(error, "a.rs has changed: the text to find is not in it");
    let (_folder, twice, fault) = plan("a + 1; a + 1\n");
    let error = twice.planted(&fault).unwrap_err();
    assert_eq!(error, "a.rs: the text to find stands there 2 times");
}

#[test]
fn a_list_that_says_too_little_is_refused() {
    let (_folder, plan, fault) = plan("");
    let refused = |change: &dyn Fn(&mut Fault)| {
        let mut plan = plan.clone();
        change(&mut plan.faults[0]);
        plan.check().unwrap_err()
    };
    assert!(plan.check().is_ok());
    assert!(refused(&|fault| fault.id = "One".into()).contains("small letters"));
    assert!(refused(&|fault| fault.what = " ".into()).contains("`what`"));
    assert!(refused(&|fault| fault.replace = "a + 1".into()).contains("`replace`"));
    assert!(refused(&|fault| fault.test = "no".into()).contains("found none"));
    let mut twice = plan.clone();
    twice.faults.push(fault);
    assert_eq!(twice.check().unwrap_err(), "one: the id stands twice");
}

#[test]
fn the_page_of_the_lesson_has_a_row_for_each_fault() {
    let (folder, plan, fault) = plan("");
    assert!(plan.untold().unwrap().contains("lacks one"));
    let row = plan.row(&fault);
    assert_eq!(row, "| one too many | `a.rs` | `lib` |");
    std::fs::write(folder.path().join("README.md"), format!("# X\n{row}\n")).unwrap();
    assert_eq!(plan.untold(), None);
}
