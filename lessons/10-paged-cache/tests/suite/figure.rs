//! The book's interactive figure shows what the blocks of this lesson do.

#[path = "../../examples/trace_paged_cache.rs"]
mod trace_paged_cache;

use trace_paged_cache::{Trace, record};

const COMMAND: &str = "cargo run -q -p lesson10 --example trace_paged_cache > target/paged-cache.json && mv target/paged-cache.json book/figures/paged-cache.json";

#[test]
fn the_recorded_blocks_are_what_the_cache_does() {
    let path = lab::paths::workspace_root().join("book/figures/paged-cache.json");
    let text = std::fs::read_to_string(path).unwrap();
    let recorded: Trace = serde_json::from_str(&text).unwrap();
    assert!(
        recorded == record().unwrap(),
        "the cache does something else than the record; if that is intended, record it again:\n  {COMMAND}"
    );
}
