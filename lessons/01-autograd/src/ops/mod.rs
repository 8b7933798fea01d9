//! The operations: each computes a value and says how a gradient goes back through it.
//!
//! Shapes are checked before anything is computed, and a bad one is an [`AutogradError`](crate::AutogradError), never
//! a panic. A rule saves no more than it reads.

mod arithmetic;
mod elementwise;
mod index;
mod matmul;
mod reduce;
mod shape;
mod softmax;

pub(crate) mod broadcast;
pub(crate) mod long;
