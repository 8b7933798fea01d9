//! The book's interactive figure shows what this engine, and lesson 07's plan, do.

#[path = "../../examples/trace_continuous_batching.rs"]
mod trace_continuous_batching;

use serde_json::Value;
use trace_continuous_batching::record;

const COMMAND: &str = "cargo run -q -p lesson08 --example trace_continuous_batching > target/continuous-batching.json && mv target/continuous-batching.json book/figures/continuous-batching.json";

#[test]
fn the_recorded_runs_are_what_the_engine_and_the_plan_do() {
    let path = lab::paths::workspace_root().join("book/figures/continuous-batching.json");
    let text = std::fs::read_to_string(path).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    assert!(
        recorded == record().unwrap(),
        "the engine or the plan does something else than the record; if that is intended, record it again:\n  {COMMAND}"
    );
}
