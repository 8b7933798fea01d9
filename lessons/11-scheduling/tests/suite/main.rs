//! The lesson's tests, but those of the exercises and those that count allocations.

mod claims;
mod common;
mod concurrent;
mod figure;
mod invariants;
mod known_faults;
mod oracle;
mod schedule;
mod story;
mod waiting;
