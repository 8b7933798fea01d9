//! The tests of this crate, a module for each subject.

mod common;
mod cost;
mod gallery;
mod race;
mod story;
mod writer;
