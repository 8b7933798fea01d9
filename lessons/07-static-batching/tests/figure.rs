//! The book's interactive figure shows what this code counts.

#[path = "../examples/trace_static_batching.rs"]
mod trace_static_batching;

use trace_static_batching::{Trace, record, to_text};

const COMMAND: &str = "cargo run -q -p lesson07 --example trace_static_batching > target/static-batching.json && mv target/static-batching.json book/figures/static-batching.json";

#[test]
fn the_recorded_trace_is_what_the_batches_count() {
    let path = lab::paths::workspace_root().join("book/figures/static-batching.json");
    let text = std::fs::read_to_string(path).unwrap();
    let recorded: Trace = serde_json::from_str(&text).unwrap();
    let fresh = record().unwrap();
    assert!(
        recorded == fresh && text.trim_end() == to_text(&fresh).unwrap(),
        "the lesson counts something else than the trace; if that is intended, record it again:\n  {COMMAND}"
    );
}
