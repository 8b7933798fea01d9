//! The book's figure shows the output of this code with this checkpoint.

#[path = "../../examples/trace_generation.rs"]
mod trace_generation;

use trace_generation::{Trace, record};

const COMMAND: &str = "cargo run -q -p lesson05 --example trace_generation > target/generation.json && mv target/generation.json book/figures/generation.json";

#[test]
fn the_recorded_trace_is_the_models_output() {
    let path = lab::paths::workspace_root().join("book/figures/generation.json");
    let text = std::fs::read_to_string(path).unwrap();
    let recorded: Trace = serde_json::from_str(&text).unwrap();
    let fresh = record().unwrap();
    assert_eq!(
        recorded.checkpoint_sha256, fresh.checkpoint_sha256,
        "the trace was recorded with other weights than those in data/stories; record it again:\n  {COMMAND}"
    );
    assert!(
        recorded == fresh,
        "the same weights give another trace; if that is intended, record it again:\n  {COMMAND}"
    );
}
