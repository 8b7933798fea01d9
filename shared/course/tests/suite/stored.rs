//! The state: whole after any interruption, and never lost.

use std::fs;

use course::state::{SCHEMA, State, Status};

use crate::workbook::{started, workbook};

fn backups(tree: &crate::tree::Tree) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(tree.path("work/backup"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn no_file_is_the_state_before_the_first_exercise() {
    let tree = workbook();
    assert_eq!(State::load(&tree.course).unwrap(), State::default());
    assert!(!tree.has("work"), "reading writes nothing");
}

#[test]
fn what_is_written_is_read_again() {
    let tree = started();
    State::update(&tree.course, |state| state.exercise("05.1").checked(false, "a")).unwrap();
    State::update(&tree.course, |state| state.exercise("05.1").checked(false, "a")).unwrap();
    State::update(&tree.course, |state| state.exercise("05.1").checked(true, "b")).unwrap();
    let progress = State::load(&tree.course).unwrap().progress("05.1");
    assert_eq!((progress.status, progress.attempts), (Status::Passed, 2));
    let passed_at = progress.passed_at.clone();
    assert!(passed_at.is_some() && progress.started_at.is_some());
    State::update(&tree.course, |state| state.exercise("05.1").checked(false, "c")).unwrap();
    let progress = State::load(&tree.course).unwrap().progress("05.1");
    assert_eq!((progress.status, progress.attempts), (Status::Failing, 3));
    assert_eq!(progress.passed_at, passed_at, "the first pass stays");
}

/// A file that a crash of the machine cut off: it is kept aside, and the state before the last change is used.
#[test]
fn a_cut_off_file_is_put_aside_and_the_copy_is_used() {
    let tree = started();
    State::update(&tree.course, |state| state.exercise("05.1").hints = 1).unwrap();
    State::update(&tree.course, |state| state.exercise("05.1").hints = 2).unwrap();
    let path = tree.path("work/course.json");
    let whole = fs::read(&path).unwrap();
    for length in [0, 1, whole.len() / 2, whole.len() - 3] {
        fs::write(&path, &whole[..length]).unwrap();
        let state = State::load(&tree.course).unwrap();
        assert_eq!(state.progress("05.1").hints, 1, "cut at {length}");
        State::update(&tree.course, |state| state.exercise("05.7").skipped = true).unwrap();
        assert!(State::load(&tree.course).unwrap().progress("05.7").skipped);
        let kept = backups(&tree)
            .into_iter()
            .rfind(|name| name.starts_with("course-damaged"));
        assert!(kept.is_some(), "the cut off file is kept");
        fs::write(&path, &whole).unwrap();
        State::update(&tree.course, |state| state.exercise("05.1").hints = 1).unwrap();
        State::update(&tree.course, |state| state.exercise("05.1").hints = 2).unwrap();
    }
    assert_eq!(
        backups(&tree).len(),
        5,
        "four cut off files and the copy: {:?}",
        backups(&tree)
    );
}

#[test]
fn without_a_copy_the_damaged_file_is_kept_and_counting_begins_anew() {
    let tree = workbook();
    tree.write("work/course.json", [0xff, 0xfe, b'{']);
    assert_eq!(State::load(&tree.course).unwrap(), State::default());
    let kept = backups(&tree);
    assert_eq!(kept.len(), 1);
    assert_eq!(
        fs::read(tree.path("work/backup").join(&kept[0])).unwrap(),
        [0xff, 0xfe, b'{']
    );
}

/// A command was killed while it wrote: its unfinished file lies there, the old state counts, the next command writes.
#[test]
fn an_unfinished_file_left_behind_does_no_harm() {
    let tree = started();
    State::update(&tree.course, |state| state.exercise("05.1").hints = 1).unwrap();
    tree.write("work/.course.json.new", "{\"schema\": 1, \"exer");
    tree.write("work/backup/.course.json.new", "{");
    assert_eq!(State::load(&tree.course).unwrap().progress("05.1").hints, 1);
    State::update(&tree.course, |state| state.exercise("05.1").hints = 2).unwrap();
    assert_eq!(State::load(&tree.course).unwrap().progress("05.1").hints, 2);
    assert!(!tree.has("work/.course.json.new"));
}

/// The machine stopped between the two renames, or the file was deleted.
#[test]
fn a_missing_file_is_replaced_by_its_copy() {
    let tree = started();
    State::update(&tree.course, |state| state.exercise("05.1").hints = 1).unwrap();
    State::update(&tree.course, |state| state.exercise("05.1").hints = 2).unwrap();
    fs::remove_file(tree.path("work/course.json")).unwrap();
    assert_eq!(State::load(&tree.course).unwrap().progress("05.1").hints, 1);
}

#[test]
fn a_later_version_is_left_alone_and_unknown_keys_are_kept() {
    let tree = workbook();
    let later = format!("{{\"schema\": {}}}", SCHEMA + 1);
    tree.write("work/course.json", &later);
    let error = State::load(&tree.course).unwrap_err().to_string();
    assert!(error.contains("update the repository"), "{error}");
    assert_eq!(fs::read_to_string(tree.path("work/course.json")).unwrap(), later);

    let other = r#"{"schema": 1, "mood": "good", "exercises": {"05.1": {"hints": 1, "colour": "red"}}}"#;
    tree.write("work/course.json", other);
    State::update(&tree.course, |state| state.exercise("05.1").hints = 2).unwrap();
    let text = fs::read_to_string(tree.path("work/course.json")).unwrap();
    assert!(
        text.contains("\"mood\": \"good\"") && text.contains("\"colour\": \"red\""),
        "{text}"
    );
}

/// Two terminals: neither undoes what the other noted.
#[test]
fn changes_at_the_same_time_all_count() {
    let tree = started();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    State::update(&tree.course, |state| state.exercise("05.1").attempts += 1).unwrap();
                }
            });
        }
    });
    assert_eq!(State::load(&tree.course).unwrap().progress("05.1").attempts, 40);
}
