//! All tests of this lesson but those of the exercises and the counted allocations.

mod by_hand;
mod claims;
mod command;
mod common;
mod figure;
mod golden;
mod invariants;
mod messages;
mod parity;
mod story;
