//! Lesson 02: why does equal arithmetic take unequal time?

pub mod aligned;
pub mod gemm;
mod kernel;
mod lanes;
mod pack;
pub mod packed;
pub mod pool;
pub mod probe;
pub mod simd;
