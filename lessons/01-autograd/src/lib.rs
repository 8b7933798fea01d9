//! Lesson 01: how do we know that a gradient is right?
//!
//! A [`Tensor`] with a gradient tape over `ndarray`, in `f32` to train with and in `f64` to check with.

mod backward;
mod error;
mod node;
mod ops;
mod real;
mod tape;
mod tensor;

pub mod exercises;
pub mod gradcheck;
pub mod memory;
pub mod optim;

pub use error::{AutogradError, Result};
pub use real::Real;
pub use tape::{Saved, custom_op, custom_op_with_output, no_grad};
pub use tensor::Tensor;
