//! The book's interactive figure shows the choices of this sampler on the logits of the committed checkpoint.

#[path = "../../examples/trace_sampling.rs"]
mod trace_sampling;

use trace_sampling::{Trace, record};

const COMMAND: &str = "cargo run -q -p lesson09 --example trace_sampling > target/sampling.json && mv \
     target/sampling.json book/figures/sampling.json";

#[test]
fn the_recorded_choices_are_those_of_the_sampler() {
    let path = lab::paths::workspace_root().join("book/figures/sampling.json");
    let recorded: Trace = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let fresh = record().unwrap();
    assert_eq!(
        recorded.checkpoint_sha256, fresh.checkpoint_sha256,
        "the trace was recorded with other weights than those in data/stories; record it again:\n  {COMMAND}"
    );
    assert!(
        recorded == fresh,
        "the sampler or the model gives other results than the recorded trace; if that is intended, record it \
         again:\n  {COMMAND}"
    );
}
