//! All tests of lesson 02 in one program, besides those of the exercises and those that count allocations.

mod claims;
mod common;
mod figure;
mod golden;
mod invariants;
mod parity;
mod snapshots;
