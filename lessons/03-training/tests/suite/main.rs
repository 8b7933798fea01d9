//! All tests of lesson 03 in one program, besides those of the exercises.

mod claims;
mod common;
mod data;
mod figure;
mod flags;
mod golden;
mod grammar;
mod invariants;
mod metrics;
mod parity;
mod resume;
mod story;
