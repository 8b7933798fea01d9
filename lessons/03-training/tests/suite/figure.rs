//! The trace that the book's figure plays is the one that this lesson records today.

#[test]
fn the_recorded_trace_is_fresh() {
    let file = lab::paths::workspace_root().join("book/figures/training.json");
    let committed = std::fs::read_to_string(file).expect("book/figures/training.json");
    let fresh = serde_json::to_string(&training::trace::record()).unwrap();
    assert_eq!(
        committed.trim_end(),
        fresh,
        "run `cargo run -q -p lesson03 --example trace_training > target/training.json && mv target/training.json \
         book/figures/training.json`"
    );
}
