//! Addition, subtraction, multiplication and division, element by element, with broadcasting.

use ndarray::{ArrayD, Zip};

use crate::error::Result;
use crate::ops::broadcast::broadcast_shape;
use crate::ops::long::sum_back;
use crate::real::Real;
use crate::tape::{Saved, record};
use crate::tensor::Tensor;

impl<T: Real> Tensor<T> {
    /// `self + other`, broadcast. The gradient goes to both unchanged; the tape saves nothing.
    ///
    /// # Errors
    /// When the shapes do not broadcast.
    pub fn add(&self, other: &Self) -> Result<Self> {
        let value = combine("add", self, other, |x, y| x + y)?;
        let (left, right) = (WantedShape::of(self), WantedShape::of(other));
        Ok(record("add", &[self, other], value, |_| {
            Box::new(move |upstream| {
                // The upstream gradient is moved to one of the two; only the other gets a copy.
                let Some(right) = &right.0 else {
                    return Ok(vec![left.sum(upstream), None]);
                };
                let for_left = left.0.is_some().then(|| upstream.clone());
                let for_left = for_left.and_then(|gradient| left.sum(gradient));
                Ok(vec![for_left, Some(sum_back(upstream, right))])
            })
        }))
    }

    /// `self - other`, broadcast. The tape saves nothing.
    ///
    /// # Errors
    /// When the shapes do not broadcast.
    pub fn sub(&self, other: &Self) -> Result<Self> {
        let value = combine("sub", self, other, |x, y| x - y)?;
        let (left, right) = (WantedShape::of(self), WantedShape::of(other));
        Ok(record("sub", &[self, other], value, |_| {
            Box::new(move |upstream| {
                let for_right = right
                    .0
                    .is_some()
                    .then(|| upstream.mapv(|g| -g))
                    .and_then(|gradient| right.sum(gradient));
                Ok(vec![left.sum(upstream), for_right])
            })
        }))
    }

    /// `self · other`, element by element, broadcast. The tape saves the operand that the other's gradient needs.
    ///
    /// # Errors
    /// When the shapes do not broadcast.
    // ANCHOR: mul
    pub fn mul(&self, other: &Self) -> Result<Self> {
        let value = combine("mul", self, other, |x, y| x * y)?;
        let (left, right) = (WantedShape::of(self), WantedShape::of(other));
        Ok(record("mul", &[self, other], value, |_| {
            let x = right.0.is_some().then(|| Saved::new(self));
            let y = left.0.is_some().then(|| Saved::new(other));
            Box::new(move |upstream| {
                let for_left = match &y {
                    Some(y) => left.sum(&upstream * &*y.read()?),
                    None => None,
                };
                let for_right = match &x {
                    Some(x) => right.sum(upstream * &*x.read()?),
                    None => None,
                };
                Ok(vec![for_left, for_right])
            })
        }))
    }
    // ANCHOR_END: mul

    /// `self / other`, element by element, broadcast. The tape saves both operands.
    ///
    /// # Errors
    /// When the shapes do not broadcast.
    pub fn div(&self, other: &Self) -> Result<Self> {
        let value = combine("div", self, other, |x, y| x / y)?;
        let (left, right) = (WantedShape::of(self), WantedShape::of(other));
        Ok(record("div", &[self, other], value, |_| {
            let x = right.0.is_some().then(|| Saved::new(self));
            let y = Saved::new(other);
            Box::new(move |upstream| {
                let over = upstream / &*y.read()?;
                // d(x/y)/dy = -x/y², of which one division is already done.
                let for_right = match &x {
                    Some(x) => right.sum(-(&over * &*x.read()? / &*y.read()?)),
                    None => None,
                };
                Ok(vec![left.sum(over), for_right])
            })
        }))
    }

    /// `-self`.
    pub fn neg(&self) -> Self {
        self.scale(-T::one())
    }

    /// `factor · self`. The tape saves nothing.
    pub fn scale(&self, factor: T) -> Self {
        let value = self.value().mapv(|x| x * factor);
        record("scale", &[self], value, |_| {
            Box::new(move |upstream| Ok(vec![Some(upstream * factor)]))
        })
    }

    /// `self + term` for one number. The tape saves nothing.
    pub fn add_scalar(&self, term: T) -> Self {
        let value = self.value().mapv(|x| x + term);
        record("add_scalar", &[self], value, |_| {
            Box::new(move |upstream| Ok(vec![Some(upstream)]))
        })
    }
}

/// The shape of an operand whose gradient is wanted; nothing for a constant.
struct WantedShape(Option<Vec<usize>>);

impl WantedShape {
    fn of<T: Real>(operand: &Tensor<T>) -> Self {
        Self(operand.is_recorded().then(|| operand.shape()))
    }

    /// The gradient summed back to the operand's shape, if it is wanted.
    fn sum<T: Real>(&self, gradient: ArrayD<T>) -> Option<ArrayD<T>> {
        self.0.as_ref().map(|shape| sum_back(gradient, shape))
    }
}

/// Applies `f` to each pair of elements of the broadcast operands. Reads each operand once, writes the result once.
fn combine<T: Real>(
    operation: &'static str,
    left: &Tensor<T>,
    right: &Tensor<T>,
    f: impl Fn(T, T) -> T,
) -> Result<ArrayD<T>> {
    let (x, y) = (left.value(), right.value());
    let shape = broadcast_shape(operation, x.shape(), y.shape())?;
    let x = x.broadcast(shape.as_slice()).expect("the common shape was checked");
    let y = y.broadcast(shape.as_slice()).expect("the common shape was checked");
    Ok(Zip::from(x).and(y).map_collect(|&x, &y| f(x, y)))
}
