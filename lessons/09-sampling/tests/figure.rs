//! The book's interactive figure shows what this sampler and this checkpoint do.

#[path = "../examples/trace_sampling.rs"]
mod trace_sampling;

use trace_sampling::{Trace, record};

const COMMAND: &str = "cargo run -q -p lesson09 --example trace_sampling > target/sampling.json && mv target/sampling.json book/figures/sampling.json";

#[test]
fn the_recorded_choices_are_what_the_sampler_chooses() {
    let path = lab::paths::workspace_root().join("book/figures/sampling.json");
    let text = std::fs::read_to_string(path).unwrap();
    let recorded: Trace = serde_json::from_str(&text).unwrap();
    let fresh = record().unwrap();
    assert_eq!(
        recorded.checkpoint_sha256, fresh.checkpoint_sha256,
        "the trace was recorded with other weights than those in data/stories; record it again:\n  {COMMAND}"
    );
    assert!(
        recorded == fresh,
        "the sampler chooses or the weights say something else than the trace; if that is intended, record it again:\n  {COMMAND}"
    );
}
