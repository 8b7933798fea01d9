//! The book's figure plays what this lesson's code does today.

#[path = "../../examples/trace_autograd.rs"]
mod trace_autograd;

/// `cargo run -q -p lesson01 --example trace_autograd > book/figures/autograd.json` after a change.
#[test]
fn the_committed_trace_is_what_the_walks_do() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/figures/autograd.json");
    let committed = std::fs::read_to_string(file).expect("book/figures/autograd.json");
    assert!(
        committed == trace_autograd::document(),
        "book/figures/autograd.json is not the trace of today's walks; write it anew with \
         `cargo run -q -p lesson01 --example trace_autograd > book/figures/autograd.json`"
    );
}
