//! The tests of lesson 06 in one program. `tests/exercises.rs` also runs against a learner's code,
//! `tests/allocations.rs` counts.

mod claims;
mod common;
mod figure;
mod golden;
mod invariants;
mod messages;
mod parity;
mod story;
