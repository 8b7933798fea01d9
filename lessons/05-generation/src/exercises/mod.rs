//! The functions that a learner writes or mends: free functions, nothing else. The rest of the lesson calls them.

pub mod characters;
pub mod generate;
pub mod kernels;
