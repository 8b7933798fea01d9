//! Lesson 01: how do we know that a gradient is right?
//!
//! A [`Tensor`] over `ndarray` that remembers how it was computed, so that [`Tensor::backward`] can say how a result
//! changes with every parameter. In `f32` to train with, in `f64` to check with.
//!
//! ```
//! use autograd::Tensor;
//!
//! let a = Tensor::parameter(ndarray::arr0(3.0_f64).into_dyn());
//! let b = a.add(&a)?;
//! let c = b.add(&b)?;
//! c.backward()?;
//! assert_eq!(a.grad().unwrap()[[]], 4.0);
//! # Ok::<(), autograd::AutogradError>(())
//! ```
//!
//! - **New:** the tape, its operations, the backward pass, optimizers, the check by finite differences.
//! - **Imported:** arrays and their matrix product from `ndarray`. No earlier lesson.
//! - **Costs:** a training step costs about three forward passes of arithmetic (forward, and two products for each one
//!   in the backward pass), and the memory of every value that a backward rule will read.
//!
//! Read in this order: the value and the tape ([`Tensor`], [`Saved`], [`custom_op`]), the operations (methods of
//! [`Tensor`]), the backward pass (`backward.rs`), the functions that compute gradients ([`exercises`]), the check
//! ([`gradcheck`]), the optimizers ([`optim`]), the smallest tape ([`scalar`]); then the wrong backward passes
//! ([`wrong`]) on a network that shows the difference ([`network`], [`spiral`], [`fit`]), and what a tape keeps
//! ([`memory`], [`deep`], [`checkpoint()`]).

mod error;
mod node;
mod real;
mod storage;
mod tape;
mod tensor;

mod backward;
mod checkpoint;
mod ops;

pub mod costs;
pub mod exercises;
pub mod gradcheck;
pub mod memory;
pub mod optim;
pub mod scalar;
pub mod trace;

pub mod deep;
pub mod fit;
pub mod network;
pub mod spiral;
pub mod wrong;

pub use checkpoint::checkpoint;
pub use error::{AutogradError, Result};
pub use real::Real;
pub use tape::{Saved, custom_op, custom_op_with_output, no_grad};
pub use tensor::Tensor;
