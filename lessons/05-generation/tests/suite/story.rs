//! The parts of the story that are the same on every machine: its claims, its races, and lines of at most 80 columns.

use serde_json::Value;

#[test]
fn the_story_is_told_in_eighty_columns_and_records_its_claims() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_lesson05");
    let model = fixtures::model("some-kv-tied-bf16");
    let told = fixtures::story(program, &model, folder.path(), &["--tokens", "12"]);
    let wide: Vec<&str> = told.lines().filter(|line| lab::term::width(line) > 80).collect();
    assert!(wide.is_empty(), "lines of more than 80 columns: {wide:#?}");

    let document = std::fs::read_to_string(folder.path().join("lesson05.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let ids = |of: &str| -> Vec<String> {
        let list = document[of].as_array().unwrap();
        list.iter()
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids("claims"), ["M4", "G1", "G7"]);
    // Another model than the default one is raced alone, so a test opens no large one.
    assert_eq!(ids("races"), ["prefix-length", "half-some-kv-tied-bf16"]);
    let rows = &document["steps"][1]["values"]["rows computed"];
    assert!(rows.as_u64() > Some(0), "{rows}");
}
