//! The functions that a learner writes or mends. The rest of the lesson calls them.

pub mod append;
pub mod batch;
pub mod generate;
pub mod mask;
pub mod memory;
pub mod offset;
