//! `cargo course`: the workbook's own command.
//!
//! It teaches nothing and depends on no lesson: it reads their `course.toml` and results, and runs their binaries.
//! Everything takes a [`tools::Course`], so that tests put a small tree and stand-ins for cargo and pip in its place.
//!
//! The crate's README says in which order to read it. A function that returns a [`error::CourseError`] fails when what
//! it reads is missing or wrong, or a folder can not be written; the error names the place and says what to do.

#![forbid(unsafe_code)]

pub mod book;
pub mod charts;
pub mod check;
pub mod child;
pub mod claims;
pub mod cli;
pub mod clock;
pub mod data;
pub mod diff;
pub mod doctor;
pub mod error;
pub mod exercise;
pub mod faults;
pub mod hint;
pub mod lessons;
pub mod list;
pub mod pack;
pub mod page;
pub mod predict;
pub mod report;
pub mod reset;
pub mod results;
pub mod run;
pub mod skip;
pub mod solution;
pub mod source;
pub mod start;
pub mod state;
pub mod tools;
pub mod twin;
pub mod verify;
pub mod watch;
