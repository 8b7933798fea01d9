//! All tests of this lesson but those of the exercises and the counted allocations.

mod architectures;
mod claims;
mod cli;
mod common;
mod doors;
mod errors;
mod figure;
mod golden;
mod invariants;
mod parity;
