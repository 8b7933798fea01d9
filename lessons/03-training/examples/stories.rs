//! Prints some documents of the grammar, to be read: `cargo run -p lesson03 --example stories -- 10`.

use training::grammar::Grammar;
use training::split::Split;

fn main() {
    let count = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .unwrap_or(6);
    let grammar = Grammar::new();
    for index in 0..count {
        let document = grammar.document(1, Split::Train, index);
        println!(
            "--- {:?}, {:.1} nats, {} bytes\n{}",
            document.kind,
            document.nats,
            document.text.len(),
            document.text
        );
    }
}
