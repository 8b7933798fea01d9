//! Lesson 02: why does equal arithmetic take unequal time?

pub mod gemm;
pub mod packed;
pub mod pool;
pub mod simd;
