//! Lesson 07, static batching: why is batch 8 nearly free?

pub mod clock;
pub mod percentile;
pub mod plan;
pub mod workload;
