//! Shape, strides, offset: which element of a flat storage stands at which index. A view is a layout over borrowed
//! storage.
//!
//! Element (i, j, …) stands at `offset + i * strides[0] + j * strides[1] + …`. So transposing swaps two strides, a
//! slice moves the offset, a broadcast axis has stride 0: a few small numbers change and no element moves. The cost
//! comes later, when the elements are read.

use crate::exercises;
use std::ops::Range;

/// A shape with the place of each of its elements. Strides and offset are in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
}

impl Layout {
    /// The dense layout in which the last axis varies fastest.
    ///
    /// # Panics
    /// If the sizes, zeros left out, multiply to more elements than memory can hold.
    pub fn row_major(shape: &[usize]) -> Layout {
        num_elements(shape);
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis];
        }
        Layout {
            shape: shape.to_vec(),
            strides,
            offset: 0,
        }
    }

    /// Length of each axis, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Elements of the storage from one index to the next, for each axis.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// Place of element (0, 0, …).
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of elements that the storage must have: one more than the last place used.
    pub fn storage_len(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        let last = |(&length, &stride): (&usize, &usize)| (length - 1) * stride;
        self.offset + self.shape.iter().zip(&self.strides).map(last).sum::<usize>() + 1
    }

    /// Place of an element.
    ///
    /// # Panics
    /// If the index is not in the shape.
    pub fn place(&self, index: &[usize]) -> usize {
        assert!(
            index.len() == self.shape.len() && index.iter().zip(&self.shape).all(|(i, n)| i < n),
            "index {index:?} is not in shape {:?}",
            self.shape
        );
        // ANCHOR: place
        self.offset
            + index
                .iter()
                .zip(&self.strides)
                .map(|(i, stride)| i * stride)
                .sum::<usize>()
        // ANCHOR_END: place
    }

    /// Axis `i` of the result is axis `order[i]` of this layout ([`exercises::permute`]).
    ///
    /// # Panics
    /// If `order` does not name each axis exactly once.
    pub fn permute(&self, order: &[usize]) -> Layout {
        let (shape, strides) = exercises::permute(&self.shape, &self.strides, order);
        Layout {
            shape,
            strides,
            offset: self.offset,
        }
    }

    /// Exchanges two axes.
    ///
    /// # Panics
    /// If there is no such axis.
    pub fn transpose(&self, first: usize, second: usize) -> Layout {
        let mut order: Vec<usize> = (0..self.shape.len()).collect();
        order.swap(first, second);
        self.permute(&order)
    }

    /// Every `step`-th index of `range` along one axis.
    ///
    /// # Panics
    /// If there is no such axis, the range leaves it, or `step` is zero.
    pub fn slice(&self, axis: usize, range: Range<usize>, step: usize) -> Layout {
        assert!(
            range.start <= range.end && range.end <= self.shape[axis] && step > 0,
            "{range:?} in steps of {step} is not in axis {axis} of {:?}",
            self.shape
        );
        let mut sliced = self.clone();
        sliced.offset += range.start * self.strides[axis];
        sliced.shape[axis] = range.len().div_ceil(step);
        sliced.strides[axis] *= step;
        sliced
    }

    /// Index `index` along one axis, which disappears.
    ///
    /// # Panics
    /// If there is no such axis or index.
    pub fn select(&self, axis: usize, index: usize) -> Layout {
        let mut selected = self.slice(axis, index..index + 1, 1);
        selected.shape.remove(axis);
        selected.strides.remove(axis);
        selected
    }

    /// Repeats axes of length 1, and new axes in front, up to `shape`; a repeated axis has stride 0.
    ///
    /// # Panics
    /// If an axis has another length than 1 or the wanted one, `shape` has fewer axes, or it has more elements than
    /// memory can hold.
    pub fn broadcast_to(&self, shape: &[usize]) -> Layout {
        num_elements(shape);
        assert!(
            shape.len() >= self.shape.len(),
            "{:?} has more axes than {shape:?}",
            self.shape
        );
        let new_axes = shape.len() - self.shape.len();
        let mut strides = vec![0; shape.len()];
        for (axis, (&length, &stride)) in self.shape.iter().zip(&self.strides).enumerate() {
            let wanted = shape[new_axes + axis];
            assert!(
                length == wanted || length == 1,
                "{:?} does not broadcast to {shape:?}",
                self.shape
            );
            strides[new_axes + axis] = if length == wanted { stride } else { 0 };
        }
        Layout {
            shape: shape.to_vec(),
            strides,
            offset: self.offset,
        }
    }

    /// Whether the elements, in order, are neighbours in the storage ([`exercises::is_contiguous`]).
    pub fn is_contiguous(&self) -> bool {
        exercises::is_contiguous(&self.shape, &self.strides)
    }

    /// The same elements in the same order under another shape, if strides can express it; `None` if the elements must
    /// be copied first. A permuted layout usually needs the copy; one that merely has gaps between rows may still split
    /// its axes.
    ///
    /// # Panics
    /// If the number of elements changes.
    pub fn reshape(&self, shape: &[usize]) -> Option<Layout> {
        assert_eq!(
            num_elements(shape),
            self.len(),
            "{:?} and {shape:?} have different numbers of elements",
            self.shape
        );
        let mut reshaped = Layout {
            offset: self.offset,
            ..Layout::row_major(shape)
        };
        if self.is_empty() {
            return Some(reshaped);
        }
        // Walk the new axes from the last one on; each takes its part of the current run of equally spaced elements.
        let mut runs = self.runs();
        let (mut left, mut stride) = (1, 1);
        for axis in (0..shape.len()).rev().filter(|&axis| shape[axis] != 1) {
            if left == 1 {
                (left, stride) = runs.pop()?;
            }
            if left % shape[axis] != 0 {
                return None;
            }
            reshaped.strides[axis] = stride;
            stride *= shape[axis];
            left /= shape[axis];
        }
        Some(reshaped)
    }

    /// Axes that can be walked as one, merged: (elements, stride), outermost first. A contiguous layout has a single
    /// run of stride 1.
    pub fn runs(&self) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (&length, &stride) in self.shape.iter().zip(&self.strides).filter(|(length, _)| **length != 1) {
            match runs.last_mut() {
                Some(run) if run.1 == length * stride => *run = (run.0 * length, stride),
                _ => runs.push((length, stride)),
            }
        }
        runs
    }

    /// Number of elements, in order, that are neighbours before the first jump: what one visit to memory can bring.
    pub fn run_len(&self) -> usize {
        self.runs()
            .last()
            .map_or(1, |&(elements, stride)| if stride == 1 { elements } else { 1 })
    }

    /// The place of each element, in row-major order of the indices: the order in which everything here is read,
    /// printed and copied.
    pub fn places(&self) -> Places<'_> {
        let next = (!self.is_empty()).then_some(self.offset);
        Places {
            layout: self,
            index: vec![0; self.shape.len()],
            next,
        }
    }
}

/// Number of elements of a shape. A product that wraps would make a huge shape look small or empty.
///
/// # Panics
/// If the sizes, zeros left out, multiply to more than `isize::MAX`.
fn num_elements(shape: &[usize]) -> usize {
    let mut sizes = shape.iter().copied().filter(|&size| size != 0);
    let product = sizes.try_fold(1, usize::checked_mul);
    assert!(
        product.is_some_and(|product| product <= isize::MAX as usize),
        "shape {shape:?} has more elements than memory can hold"
    );
    shape.iter().product()
}

/// Iterator over the places of a layout: a counter with one wheel per axis, the last one turning fastest.
#[derive(Clone, Debug)]
pub struct Places<'a> {
    layout: &'a Layout,
    index: Vec<usize>,
    next: Option<usize>,
}

impl Iterator for Places<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let place = self.next?;
        let Layout { shape, strides, .. } = self.layout;
        self.next = None;
        let mut ahead = place;
        for axis in (0..shape.len()).rev() {
            self.index[axis] += 1;
            ahead += strides[axis];
            if self.index[axis] < shape[axis] {
                self.next = Some(ahead);
                break;
            }
            // The wheel is full: back to zero, and the next one turns.
            ahead -= shape[axis] * strides[axis];
            self.index[axis] = 0;
        }
        Some(place)
    }
}
