//! The functions that a reader writes, one file each. The rest of the lesson calls them.

pub mod admission;
pub mod cancellation;
pub mod ragged;
pub mod recycle;
pub mod step;
