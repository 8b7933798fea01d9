//! What a reader sees: pages of 80 columns, from a small workbook in a temporary folder.

use course::list::progress::Counts;
use course::page::Page;
use course::results::Origin;
use course::{charts, claims, data, doctor, lessons, list, run};
use insta::assert_snapshot;

use crate::tree::{Tree, narrow};

const FIVE: &str = r#"
lesson = "05"
lib = "generation"
title = "Generation"
question = "Why does each token cost more than the last, and what does the machine do meanwhile?"
layer = "inference"
claims = ["M4", "G1"]
exercises = []

[minutes]
read = 20
run = 1
core = 45
extra = 30
"#;

fn workbook() -> Tree {
    let tree = Tree::new();
    tree.write("lessons/05-generation/course.toml", FIVE);
    tree.write(
        "lessons/02-layout/course.toml",
        "lesson = 2\ntitle = \"布局 Layout\"\nlayer = \"tensor\"\n",
    );
    tree
}

fn none(_lesson: &str) -> Counts {
    Counts::default()
}

#[test]
fn the_list_fits_80_columns_and_keeps_wide_titles_straight() {
    let page = list::render(&lessons::all(&workbook().course).unwrap(), &none, &Page::plain());
    narrow(&page);
    assert_snapshot!(page);
}

#[test]
fn a_wrong_course_toml_is_named_and_the_others_are_listed() {
    let tree = workbook();
    tree.write("lessons/01-autograd/course.toml", "title = \"Autograd\"\nlayer = 3\n");
    tree.write("lessons/03-training/course.toml", "lesson = 4\ntitle = \"Training\"\n");
    tree.write("lessons/04-loading/README.md", "no course.toml yet\n");
    tree.write("lessons/06-kv-cache/course.toml", "title = \"unclosed\n");
    let page = list::render(&lessons::all(&tree.course).unwrap(), &none, &Page::plain());
    narrow(&page);
    assert_snapshot!(page);
}

#[test]
fn a_lesson_is_found_however_its_number_is_typed() {
    let tree = workbook();
    for asked in ["5", "05", "lesson05"] {
        assert_eq!(lessons::find(&tree.course, asked).unwrap(), "05");
    }
    for asked in ["7", "", "five", "005"] {
        let error = lessons::find(&tree.course, asked).unwrap_err().to_string();
        assert_eq!(error, format!("there is no lesson {asked}; there are 02, 05"));
    }
}

#[test]
fn run_passes_arguments_and_status_on() {
    let tree = workbook();
    tree.write("fake/cargo.sh", "echo \"$@\" > fake/calls\nexit 7\n");
    let arguments = ["--no-pause".to_owned(), "two words".to_owned()];
    assert_eq!(run::run(&tree.course, "5", false, &arguments).unwrap().code(), Some(7));
    assert_eq!(tree.calls(), ["run -q -p lesson05 -- --no-pause two words"]);
}

fn document(lesson: &str, claims: &str) -> String {
    format!(
        r#"{{"schema": 1, "lesson": "{lesson}", "model": "stories", "machine": {{"cpu": "Example 9000", "cores": 2,
        "memory_bytes": 1, "system": "linux", "rustc": "rustc", "revision": "abc"}}, "steps": [], "races": [],
        "ledger": {{}}, "claims": [{claims}], "charts": []}}"#
    )
}

fn recorded() -> Tree {
    let tree = workbook();
    let t3 = r#"{"id": "T3", "claimed": "converting once before the hot loop is faster than on each step",
        "measured": {"value": 2.4671, "unit": "times"}, "verdict": "holds"}"#;
    let others = r#"{"id": "G1", "claimed": "time per token grows with length",
        "measured": {"value": 16, "unit": "multiply-adds a token, 64 against 4"}, "verdict": "partly",
        "note": "the first tokens are bound by reading the weights"},
        {"id": "M4", "claimed": "the first run is much slower than the next ones",
        "measured": {"value": null, "unit": "times"}, "verdict": "not_measured", "note": "one run only"},
        {"id": "T3", "claimed": "the same claim, measured in another lesson",
        "measured": {"value": 0.98, "unit": "times"}, "verdict": "not_here"}"#;
    tree.write("lessons/02-layout/results/lesson02.json", document("lesson02", t3));
    tree.write(
        "lessons/05-generation/results/lesson05.json",
        document("lesson05", others),
    );
    tree.write(
        "lessons/05-generation/results/roofline.chart.json",
        "{\"id\": \"roofline\"}",
    );
    tree.write("lessons/05-generation/results/roofline.svg", "<svg/>");
    tree.write("target/course/lesson05/roofline.svg", "<svg/>");
    tree
}

#[test]
fn claims_are_keyed_by_id_and_lesson() {
    let tree = recorded();
    let rows = claims::collect(&tree.course, Origin::Recorded).unwrap();
    let keys: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.lesson.as_str())).collect();
    assert_eq!(keys, [("T3", "02"), ("G1", "05"), ("M4", "05"), ("T3", "05")]);
    let page = claims::render(&rows, Origin::Recorded, &Page::plain());
    narrow(&page);
    assert_snapshot!(page);
}

#[test]
fn claims_for_machines_keep_every_field() {
    let rows = claims::collect(&recorded().course, Origin::Recorded).unwrap();
    insta::assert_json_snapshot!(&rows[1]);
}

#[test]
fn without_results_claims_say_how_to_make_them() {
    let tree = workbook();
    for origin in [Origin::Recorded, Origin::Latest] {
        let rows = claims::collect(&tree.course, origin).unwrap();
        assert!(claims::render(&rows, origin, &Page::plain()).contains("cargo course run 05 --no-pause"));
    }
}

#[test]
fn a_damaged_result_is_named_with_the_command_that_records_it_again() {
    let tree = recorded();
    tree.write("lessons/02-layout/results/lesson02.json", "{\"schema\": 1");
    let error = claims::collect(&tree.course, Origin::Recorded).unwrap_err();
    assert_snapshot!(error.to_string());
    tree.write(
        "lessons/02-layout/results/lesson02.json",
        document("lesson02", "").replace("\"schema\": 1", "\"schema\": 2"),
    );
    let error = claims::collect(&tree.course, Origin::Recorded).unwrap_err().to_string();
    assert!(error.contains("expected schema 1, found 2"), "{error}");
}

#[test]
fn charts_are_listed_with_paths_to_open() {
    let page = charts::render(&recorded().course, &Page::plain()).unwrap();
    assert_snapshot!(page);
    assert_snapshot!(charts::render(&workbook().course, &Page::plain()).unwrap());
}

#[test]
fn colours_come_only_when_asked_for() {
    let tree = recorded();
    let rows = claims::collect(&tree.course, Origin::Recorded).unwrap();
    assert!(!claims::render(&rows, Origin::Recorded, &Page::plain()).contains('\x1b'));
    let coloured = claims::render(&rows, Origin::Recorded, &Page { has_color: true });
    assert!(coloured.contains("\x1b[32mholds\x1b[0m"), "{coloured}");
}

#[test]
fn data_lists_files_and_optional_models() {
    let tree = workbook();
    tree.write(
        "data/manifest.json",
        r#"{"schema": 1, "files": [{"path": "stories/model.safetensors", "bytes": 9876543, "sha256": "ab",
        "licence": "CC BY 4.0", "origin": "trained by lesson 03 from data/corpus and the story grammar, seed 42, as data/stories/README.md says"}]}"#,
    );
    tree.write("data/models.json", include_str!("../../../../data/models.json"));
    let page = |tree: &Tree| {
        let (manifest, models) = (
            data::manifest(&tree.course).unwrap(),
            data::models(&tree.course).unwrap(),
        );
        data::list::render(&tree.course, &manifest, &models, &Page::plain())
    };
    narrow(&page(&tree));
    assert_snapshot!(page(&tree));
    tree.write("data/models/smollm2-135m-instruct/config.json", "{}");
    assert!(page(&tree).contains("here, in data/models/smollm2-135m-instruct"));
}

#[test]
fn a_missing_manifest_says_how_to_restore_it() {
    let tree = workbook();
    assert_snapshot!(data::manifest(&tree.course).unwrap_err().to_string());
    tree.write("data/manifest.json", "{\"files\": 3}");
    assert_snapshot!(data::manifest(&tree.course).unwrap_err().to_string());
}

#[test]
fn an_unknown_model_lists_the_known_ones() {
    let tree = workbook();
    tree.write("data/models.json", include_str!("../../../../data/models.json"));
    assert_snapshot!(data::model(&tree.course, "gpt5").unwrap_err().to_string());
}

#[test]
fn checksums_come_from_lesson_04_whatever_its_status() {
    let tree = workbook();
    tree.write(
        "fake/report.json",
        r#"{"files": [{"path": "a", "ok": true, "error": null}, {"path": "b", "ok": false, "error": "cut off"}]}"#,
    );
    let report = data::verify::manifest(&tree.course).unwrap();
    assert_eq!(
        report.files.iter().map(|file| file.ok).collect::<Vec<_>>(),
        [true, false]
    );
}

#[test]
fn a_lesson_04_that_does_not_build_is_told_apart_from_wrong_files() {
    let tree = workbook();
    let error = data::verify::manifest(&tree.course).unwrap_err().to_string();
    assert!(
        error.ends_with("failed (status 101): error: could not compile lesson04"),
        "{error}"
    );
}

#[test]
fn the_doctor_says_what_to_do_and_only_problems_make_it_sick() {
    use doctor::{Check, Status};
    let check = |id, status, found: &str, advice: &str| Check {
        id,
        status,
        found: found.into(),
        advice: advice.into(),
    };
    let mut checks = vec![
        check("toolchain", Status::Ok, "rustc 1.95.0, as rust-toolchain.toml asks", ""),
        check(
            "huge pages",
            Status::Note,
            "never: packed weights stay on small pages, and reading them is some percent slower",
            "if you may: `echo madvise`",
        ),
    ];
    assert!(!doctor::is_sick(&checks));
    assert!(doctor::render(&checks, &Page::plain()).ends_with("Ready. 1 to know about, nothing in the way.\n"));
    checks.push(check(
        "data",
        Status::Problem,
        "data/stories/model.safetensors (cut off)",
        "restore them with `git checkout data`",
    ));
    assert!(doctor::is_sick(&checks));
    let page = doctor::render(&checks, &Page::plain());
    narrow(&page);
    assert_snapshot!(page);
}

/// On whatever machine the tests run: each check gives an answer, and what is not well has advice.
#[test]
fn the_doctor_examines_this_machine() {
    let tree = workbook();
    tree.write("rust-toolchain.toml", include_str!("../../../../rust-toolchain.toml"));
    let checks = doctor::examine(&tree.course);
    assert_eq!(checks.len(), 10);
    narrow(&doctor::render(&checks, &Page::plain()));
    for check in &checks {
        assert!(!check.found.is_empty(), "{}", check.id);
        assert_eq!(
            check.status == doctor::Status::Ok,
            check.advice.is_empty(),
            "{}",
            check.id
        );
    }
    // The stand-in for lesson 04 does not build here.
    assert!(doctor::is_sick(&checks));
    assert!(checks.last().unwrap().advice.contains("could not compile"));
}
