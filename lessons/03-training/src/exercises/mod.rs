//! The functions that a learner writes or mends: free functions with public types. The rest of the lesson calls these.

mod data;
mod loss;

pub use data::{merge_pair, most_frequent_pair, scoring_windows, split_of};
pub use loss::{cross_entropy_backward, inputs_and_targets};
