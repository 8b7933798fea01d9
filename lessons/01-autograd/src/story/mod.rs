//! The steps of the story, one module each, in the order in which they are told.

pub mod curves;
pub mod differences;
pub mod in_place;
pub mod keeping;
pub mod opening;
pub mod picture;
pub mod twice;
pub mod wirings;

/// Points of a line in a chart.
pub type Curve = Vec<(f64, f64)>;
