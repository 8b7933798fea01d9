//! The functions that a reader writes, one file each. The rest of the lesson calls them.

pub mod allocate;
pub mod attend;
pub mod chain;
pub mod hits;
pub mod place;
