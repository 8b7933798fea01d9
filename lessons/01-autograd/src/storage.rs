//! The storage of a value: shared by a tensor's clones, by `detach` and by rules that saved it, with a count of its
//! changes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ndarray::ArrayD;

use crate::memory;
use crate::real::Real;

/// A value with a version that counts changes in place.
pub(crate) struct Storage<T: Real> {
    pub(crate) value: RefCell<ArrayD<T>>,
    pub(crate) version: Cell<u64>,
    bytes: usize,
}

impl<T: Real> Storage<T> {
    /// Takes over a value, in row-major order (copied only when it is not).
    pub(crate) fn new(value: ArrayD<T>) -> Rc<Self> {
        let value = row_major(value);
        let bytes = value.len() * size_of::<T>();
        memory::value_made(bytes);
        Rc::new(Self {
            value: RefCell::new(value),
            version: Cell::new(0),
            bytes,
        })
    }
}

impl<T: Real> Drop for Storage<T> {
    fn drop(&mut self) {
        memory::value_dropped(self.bytes);
    }
}

/// The same array in row-major order without gaps; moved when it already is.
pub(crate) fn row_major<T: Real>(value: ArrayD<T>) -> ArrayD<T> {
    if value.is_standard_layout() {
        value
    } else {
        value.as_standard_layout().into_owned()
    }
}
