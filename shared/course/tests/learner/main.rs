//! A new learner on a clean clone, from `start 05` to `reset`, with the repository changing underneath. A script, not a
//! set of tests: each step needs the ones before it. It builds a lesson, so it is no part of a plain `cargo test`; the
//! gate runs `cargo test -p course --test learner`, which fails when a step does, and when there is no such script.
//!
//! The clone is made from the last commit, and builds in a target folder of its own.

mod player;
mod story;

use std::time::Instant;

use player::Player;

/// One part of the way.
type Step = fn(&Player);

fn main() {
    let begun = Instant::now();
    let player = Player::new();
    let steps: [(&str, Step); 9] = [
        ("start 05", story::start),
        ("check, nothing written: says what to do", story::check_unwritten),
        ("a wrong attempt: the wrong idea is named", story::wrong_attempt),
        ("a file that does not compile hides nothing else", story::no_rust),
        ("the right body passes", story::right_attempt),
        ("run 05: two bars in the chart", story::run),
        ("a test changes upstream", story::test_changes),
        ("a signature changes upstream", story::signature_changes),
        ("reset, and a clean tree", story::reset),
    ];
    for (name, step) in steps {
        println!("=== {name} ({} s so far)", begun.elapsed().as_secs());
        step(&player);
    }
    println!("=== a learner came through, {} s", begun.elapsed().as_secs());
}
