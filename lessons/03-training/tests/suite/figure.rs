//! The trace that the book's figure plays is the one that the example records today.

#[allow(dead_code)]
#[path = "../../examples/trace_training.rs"]
mod trace_training;

#[test]
fn the_recorded_trace_is_fresh() {
    let committed = include_str!("../../../../book/figures/training.json");
    let committed: serde_json::Value = serde_json::from_str(committed).unwrap();
    assert!(
        committed == trace_training::trace(),
        "run `cargo run -q -p lesson03 --example trace_training > target/training.json && mv target/training.json \
         book/figures/training.json`"
    );
}
