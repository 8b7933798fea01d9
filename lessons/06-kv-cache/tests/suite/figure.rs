//! The book's interactive figure shows what this code and this checkpoint do.

#[path = "../../examples/trace_kv_cache.rs"]
mod trace_kv_cache;

const COMMAND: &str = "cargo run -q -p lesson06 --example trace_kv_cache > target/kv-cache.json && mv \
                       target/kv-cache.json book/figures/kv-cache.json";

#[test]
fn the_recorded_trace_is_what_the_passes_count() {
    let path = lab::paths::workspace_root().join("book/figures/kv-cache.json");
    let recorded: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let fresh = serde_json::to_value(trace_kv_cache::record().unwrap()).unwrap();
    assert_eq!(
        recorded["checkpoint_sha256"], fresh["checkpoint_sha256"],
        "the trace was recorded with other weights than those in data/stories; record it again:\n  {COMMAND}"
    );
    assert!(
        recorded == fresh,
        "the same weights write or count something else than the trace; if that is intended, record it again:\n  \
         {COMMAND}"
    );
}
