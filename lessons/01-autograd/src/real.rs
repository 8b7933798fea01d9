//! The two element types of a tensor.

use std::iter::Sum;

use ndarray::NdFloat;

/// An element type: `f32` to train with, `f64` to check gradients with.
///
/// A finite difference subtracts two nearly equal numbers. In `f32` that leaves about three correct digits, in
/// `f64` about nine, so every operation of this crate is generic and its tests run in `f64`.
pub trait Real: NdFloat + Sum + 'static {
    /// The name that shapes and errors print: `f32` or `f64`.
    const NAME: &'static str;

    /// The nearest value of this type.
    fn of(value: f64) -> Self;

    /// This value in double precision (exact).
    fn as_f64(self) -> f64;
}

impl Real for f32 {
    const NAME: &'static str = "f32";

    fn of(value: f64) -> Self {
        value as f32
    }

    fn as_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    const NAME: &'static str = "f64";

    fn of(value: f64) -> Self {
        value
    }

    fn as_f64(self) -> f64 {
        self
    }
}
