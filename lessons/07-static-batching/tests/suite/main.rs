//! The tests of lesson 07 in one program. `tests/exercises.rs` also runs against a learner's code,
//! `tests/allocations.rs` counts.

mod by_hand;
mod claims;
mod common;
mod figure;
mod invariants;
mod messages;
mod parity;
