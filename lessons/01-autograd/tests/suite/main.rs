//! The tests of this lesson, a module for each subject.

mod claims;
mod common;
mod golden;
mod invariants;
mod long;
mod numeric;
mod optim;
mod snapshots;
mod tape;
mod trace;
