//! A tensor: a value, and perhaps a place on the tape.
//!
//! ```text
//! Tensor ── storage ──> value [..] and its version   (shared by clones, by `detach` and by rules that saved it)
//!     └──── node ─────> operation, inputs' nodes, backward rule, gradient   (absent for constants)
//! ```
//! The two halves are apart on purpose. A node points to the nodes of its inputs, never to their values: what a rule
//! will read it saves by itself (see [`Saved`](crate::Saved)), and everything else is freed as soon as the program
//! drops it. So the tape holds exactly what backward will read.

use std::cell::Ref;
use std::fmt;
use std::rc::Rc;

use ndarray::{ArrayD, IxDyn};

use crate::error::{AutogradError, Result};
use crate::node::Node;
use crate::ops::broadcast::checked_len;
use crate::real::Real;
use crate::storage::{Storage, row_major};

/// An array of numbers that remembers how it was computed.
///
/// Cloning is cheap (two reference counts) and shares the value, the gradient and the place on the tape. Values are
/// row-major without gaps, always, so that a kernel may take them as one slice. A tensor stays on its thread.
// ANCHOR: tensor
pub struct Tensor<T: Real = f32> {
    pub(crate) storage: Rc<Storage<T>>,
    pub(crate) node: Option<Rc<Node<T>>>,
}
// ANCHOR_END: tensor

impl<T: Real> Clone for Tensor<T> {
    fn clone(&self) -> Self {
        Self {
            storage: Rc::clone(&self.storage),
            node: self.node.clone(),
        }
    }
}

impl<T: Real> Tensor<T> {
    /// A constant: no gradient flows into it. Copies only when `value` is not row-major.
    pub fn new(value: ArrayD<T>) -> Self {
        Self {
            storage: Storage::new(value),
            node: None,
        }
    }

    /// A leaf of the tape: `backward` leaves a gradient in it.
    pub fn parameter(value: ArrayD<T>) -> Self {
        Self::new(value).requires_grad()
    }

    /// A constant with one element and no axes.
    pub fn scalar(value: T) -> Self {
        Self::new(ArrayD::from_elem(IxDyn(&[]), value))
    }

    /// A constant from numbers in row-major order.
    ///
    /// # Errors
    /// When `shape` does not ask for exactly `values.len()` elements.
    pub fn from_vec(shape: &[usize], values: Vec<T>) -> Result<Self> {
        let (expected, len) = (checked_len("from_vec", shape)?, values.len());
        let value = ArrayD::from_shape_vec(IxDyn(shape), values).map_err(|_| AutogradError::Shape {
            operation: "from_vec",
            expected: format!("{expected} values for shape {shape:?}"),
            found: format!("{len}"),
            advice: "the sizes of the shape multiply to the number of values",
        })?;
        Ok(Self::new(value))
    }

    /// The same value as a new leaf that collects a gradient. What was recorded before it is left behind.
    pub fn requires_grad(self) -> Self {
        let node = Node::leaf(self.shape());
        Self {
            storage: self.storage,
            node: Some(node),
        }
    }

    /// The same value (shared, not copied) as a constant.
    pub fn detach(&self) -> Self {
        Self {
            storage: Rc::clone(&self.storage),
            node: None,
        }
    }

    /// Whether a gradient will flow through this tensor: it is a leaf, or was recorded.
    pub fn is_recorded(&self) -> bool {
        self.node.is_some()
    }

    /// The operation that computed it: `"leaf"` for parameters, `None` for constants.
    pub fn operation(&self) -> Option<&'static str> {
        self.node.as_ref().map(|node| node.name)
    }

    /// Sizes of the axes, outermost first.
    pub fn shape(&self) -> Vec<usize> {
        self.storage.value.borrow().shape().to_vec()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.storage.value.borrow().len()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value, borrowed. Row-major: `value().as_slice()` is always `Some`.
    ///
    /// # Panics
    /// Inside the closure of [`update`](Self::update) on the same tensor.
    pub fn value(&self) -> Ref<'_, ArrayD<T>> {
        self.storage.value.borrow()
    }

    /// The only element.
    ///
    /// # Errors
    /// When there is not exactly one.
    pub fn item(&self) -> Result<T> {
        let value = self.value();
        match (value.len(), value.first()) {
            (1, Some(&element)) => Ok(element),
            _ => Err(AutogradError::Shape {
                operation: "item",
                expected: "one element".into(),
                found: format!("shape {:?}", value.shape()),
                advice: "reduce it with sum() or mean()",
            }),
        }
    }

    /// Changes the value in place and counts it, so that a rule which saved the old value will notice.
    ///
    /// # Panics
    /// When the closure changes the shape, or while a [`value`](Self::value) of the same tensor is still borrowed.
    pub fn update(&self, change: impl FnOnce(&mut ArrayD<T>)) {
        let mut value = (self.storage.value.try_borrow_mut())
            .expect("a tensor is changed in place while no value() of it is borrowed");
        self.storage.version.set(self.storage.version.get() + 1);
        let shape = value.shape().to_vec();
        change(&mut value);
        assert_eq!(value.shape(), shape, "update keeps the shape");
        if !value.is_standard_layout() {
            *value = value.as_standard_layout().into_owned();
        }
    }

    /// Number of times that the value was changed in place.
    pub fn version(&self) -> u64 {
        self.storage.version.get()
    }

    /// The gradient that `backward` left here, if any.
    pub fn grad(&self) -> Option<Ref<'_, ArrayD<T>>> {
        let slot = self.node.as_ref()?.grad.borrow();
        Ref::filter_map(slot, Option::as_ref).ok()
    }

    /// Moves the gradient out and leaves none.
    pub fn take_grad(&self) -> Option<ArrayD<T>> {
        self.node.as_ref()?.grad.borrow_mut().take()
    }

    /// Puts a gradient in place of the present one, as a resumed or distributed run needs it.
    ///
    /// # Errors
    /// When the shape differs from the tensor's, or the tensor is a constant.
    pub fn set_grad(&self, gradient: ArrayD<T>) -> Result<()> {
        let node = self.node.as_ref().ok_or(AutogradError::NoTape)?;
        if gradient.shape() != node.shape {
            return Err(AutogradError::Shape {
                operation: "set_grad",
                expected: format!("shape {:?}", node.shape),
                found: format!("{:?}", gradient.shape()),
                advice: "a gradient is shaped like its tensor",
            });
        }
        *node.grad.borrow_mut() = Some(row_major(gradient));
        Ok(())
    }

    /// Drops the gradient, so that the next `backward` starts without one.
    pub fn zero_grad(&self) {
        drop(self.take_grad());
    }

    /// Keeps this tensor's gradient after `backward`, which otherwise keeps only those of leaves.
    pub fn retain_grad(&self) {
        if let Some(node) = &self.node {
            node.retain.set(true);
        }
    }
}

impl<T: Real> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = self.operation().unwrap_or("constant");
        write!(f, "Tensor<{}>{:?} by {operation}", T::NAME, self.shape())
    }
}
