//! The book's interactive figure shows what this code counts.

#[path = "../../examples/trace_static_batching.rs"]
mod trace_static_batching;

const COMMAND: &str = "cargo run -q -p lesson07 --example trace_static_batching > target/static-batching.json && mv \
                       target/static-batching.json book/figures/static-batching.json";

#[test]
fn the_recorded_trace_is_what_the_batches_count() {
    let path = lab::paths::workspace_root().join("book/figures/static-batching.json");
    let recorded = std::fs::read_to_string(path).unwrap();
    assert!(
        recorded.trim_end() == trace_static_batching::record().unwrap(),
        "the lesson counts something else than the trace; if that is intended, record it again:\n  {COMMAND}"
    );
}
