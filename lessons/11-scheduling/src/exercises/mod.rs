//! The functions that a reader writes, one file each. The rest of the lesson calls them.

pub mod ageing;
pub mod budget;
pub mod part;
pub mod recompute;
pub mod starvation;
pub mod victim;
