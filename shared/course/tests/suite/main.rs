//! The commands of readers, learners and teachers, on small workbooks in temporary folders.
//!
//! [`tree`] is such a folder, with shell scripts in the place of cargo and Python; [`workbook`] has one lesson of which
//! nothing is built; [`tiny`] has one that real cargo builds in a second.
#![cfg(unix)]

mod tiny;
mod tree;
mod workbook;

mod check;
mod check_page;
mod commands;
mod diff;
mod faults;
mod get;
mod pack;
mod pages;
mod report;
mod stored;
