//! The commands beside the story.

pub mod eval;
pub mod judge;
pub mod peers;
pub mod train;
