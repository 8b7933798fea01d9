//! The book's interactive figure shows what this engine does.

#[path = "../../examples/trace_scheduling.rs"]
mod trace_scheduling;

use trace_scheduling::{Trace, record};

const COMMAND: &str = "cargo run -q -p lesson11 --example trace_scheduling > target/scheduling.json && mv target/scheduling.json book/figures/scheduling.json";

#[test]
fn the_recorded_runs_are_what_the_engine_does() {
    let path = lab::paths::workspace_root().join("book/figures/scheduling.json");
    let text = std::fs::read_to_string(path).unwrap();
    let recorded: Trace = serde_json::from_str(&text).unwrap();
    assert!(
        recorded == record().unwrap(),
        "the engine does something else than the record; if that is intended, record it again:\n  {COMMAND}"
    );
}
