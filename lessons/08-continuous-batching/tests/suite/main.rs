//! The tests of this lesson but those of its exercises and its allocations.

mod arrivals;
mod cancellation;
mod claims;
mod command;
mod common;
mod concurrent;
mod failures;
mod figure;
mod invariants;
mod oracle;
mod parity;
mod schedule;
mod slips;
mod story;

/// The record of steps that story and figure use.
#[allow(clippy::duplicate_mod, reason = "the example that a test compares takes it too")]
#[path = "../../src/story/trace.rs"]
mod trace;
