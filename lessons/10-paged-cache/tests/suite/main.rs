//! The lesson's tests, but those of the exercises and those that count allocations.

mod blocks;
mod claims;
mod common;
mod figure;
mod invariants;
mod oracle;
mod parity;
mod story;
