//! The functions that a learner writes or mends. The rest of the lesson calls them.

pub mod buckets;
pub mod padding;
pub mod window;
