//! A layout over borrowed numbers.

use crate::layout::Layout;
use crate::matrix::MatRef;
use std::borrow::Cow;

/// Borrowed numbers, seen through a layout.
#[derive(Clone, Debug)]
pub struct View<'a, T> {
    data: &'a [T],
    layout: Layout,
}

/// The outcome of [`View::reshape`]: borrowed where strides can express the new shape, otherwise copied.
#[derive(Clone, Debug)]
pub struct Reshaped<'a, T: Clone> {
    /// The storage: the view's own, or a dense copy.
    pub data: Cow<'a, [T]>,
    /// The new layout over it.
    pub layout: Layout,
}

impl<'a, T: Copy> View<'a, T> {
    /// A dense row-major view.
    ///
    /// # Panics
    /// If the data has another length than the shape.
    pub fn row_major(data: &'a [T], shape: &[usize]) -> View<'a, T> {
        let layout = Layout::row_major(shape);
        assert_eq!(data.len(), layout.len(), "{} numbers do not fill {shape:?}", data.len());
        View { data, layout }
    }

    /// Numbers seen through any layout.
    ///
    /// # Panics
    /// If the layout reaches past the data.
    pub fn new(data: &'a [T], layout: Layout) -> View<'a, T> {
        assert!(
            layout.storage_len() <= data.len(),
            "{layout:?} reaches past {} numbers",
            data.len()
        );
        View { data, layout }
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The same numbers through a layout made from this one: `view.map(|l| l.transpose(0, 1))`.
    ///
    /// # Panics
    /// If the new layout reaches past the data.
    pub fn map(&self, change: impl FnOnce(&Layout) -> Layout) -> View<'a, T> {
        View::new(self.data, change(&self.layout))
    }

    /// One element.
    ///
    /// # Panics
    /// If the index is not in the shape.
    pub fn get(&self, index: &[usize]) -> T {
        self.data[self.layout.place(index)]
    }

    /// All elements, in row-major order of the indices.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.layout.places().map(|place| self.data[place])
    }

    /// The elements as a dense row-major copy. Cost: one allocation; each element read and written once, in runs of
    /// [`Layout::run_len`] neighbours.
    pub fn to_contiguous(&self) -> Vec<T> {
        let mut copy = Vec::with_capacity(self.layout.len());
        let run = self.layout.run_len();
        if self.layout.is_empty() {
            return copy;
        }
        if run > 1 {
            // The runs begin at every `run`-th element; skipping inside a run costs nothing but the counter.
            for place in self.heads(run).places() {
                copy.extend_from_slice(&self.data[place..place + run]);
            }
        } else if let (Some(&length), Some(&stride)) = (self.layout.shape().last(), self.layout.strides().last()) {
            // One counter for a whole last axis instead of one for each element.
            let last = self.layout.shape().len() - 1;
            for place in self.layout.slice(last, 0..1, 1).places() {
                copy.extend((0..length).map(|i| self.data[place + i * stride]));
            }
        } else {
            copy.extend(self.iter());
        }
        copy
    }

    /// The elements as a dense row-major slice: borrowed if they lie like that already, copied if not.
    pub fn contiguous(&self) -> Cow<'a, [T]> {
        if !self.layout.is_contiguous() || self.layout.is_empty() {
            return Cow::Owned(self.to_contiguous());
        }
        let begin = self.layout.offset();
        Cow::Borrowed(&self.data[begin..begin + self.layout.len()])
    }

    /// The layout of the first elements of all runs of `run` neighbours.
    fn heads(&self, run: usize) -> Layout {
        let mut heads = self.layout.clone();
        let mut covered = 1;
        for axis in (0..heads.shape().len()).rev() {
            if covered == run {
                break;
            }
            covered *= heads.shape()[axis];
            heads = heads.slice(axis, 0..1, 1);
        }
        heads
    }

    /// The same elements in the same order under another shape: without a copy where strides can express it, otherwise
    /// with one.
    ///
    /// # Panics
    /// If the number of elements changes.
    pub fn reshape(&self, shape: &[usize]) -> Reshaped<'a, T> {
        match self.layout.reshape(shape) {
            Some(layout) => Reshaped {
                data: Cow::Borrowed(self.data),
                layout,
            },
            None => Reshaped {
                data: Cow::Owned(self.to_contiguous()),
                layout: Layout::row_major(shape),
            },
        }
    }
}

impl<T: Copy> Reshaped<'_, T> {
    /// The reshaped numbers.
    pub fn view(&self) -> View<'_, T> {
        View::new(&self.data, self.layout.clone())
    }

    /// Whether the elements had to be copied.
    pub fn was_copied(&self) -> bool {
        matches!(self.data, Cow::Owned(_))
    }
}

impl<'a> View<'a, f32> {
    /// A view with two axes as a factor of [`crate::gemm::gemm`].
    ///
    /// # Panics
    /// If it has another number of axes.
    pub fn matrix(&self) -> MatRef<'a> {
        let (&[rows, cols], &[row_stride, col_stride]) = (self.layout.shape(), self.layout.strides()) else {
            panic!("a matrix has two axes, this view has shape {:?}", self.layout.shape())
        };
        let data = &self.data[self.layout.offset().min(self.data.len())..];
        MatRef {
            data,
            rows,
            cols,
            row_stride,
            col_stride,
        }
    }
}
