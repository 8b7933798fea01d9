//! A matrix that the simple loops can read in any storage.

use crate::lines::Cache;
use crate::matrix::MatRef;
use std::cell::RefCell;

// ANCHOR: grid
/// Read access to a matrix.
pub trait Grid {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// Number of columns.
    fn cols(&self) -> usize;
    /// Element (i, j).
    ///
    /// # Panics
    /// If there is no such element.
    fn at(&self, i: usize, j: usize) -> f32;

    /// `sums[t] += factor * self[i, j + t]` for each t, fused.
    ///
    /// # Panics
    /// If the row ends before the sums do.
    #[inline(always)]
    fn add_scaled_row(&self, i: usize, j: usize, factor: f32, sums: &mut [f32]) {
        for (t, sum) in sums.iter_mut().enumerate() {
            *sum = factor.mul_add(self.at(i, j + t), *sum);
        }
    }
}
// ANCHOR_END: grid

/// Any strides: each element is looked up by itself.
impl Grid for MatRef<'_> {
    #[inline(always)]
    fn rows(&self) -> usize {
        self.rows
    }
    #[inline(always)]
    fn cols(&self) -> usize {
        self.cols
    }
    #[inline(always)]
    fn at(&self, i: usize, j: usize) -> f32 {
        self.data[i * self.row_stride + j * self.col_stride]
    }
}

/// A matrix whose reads go through a model of a cache: the same loop, counted instead of timed.
#[derive(Clone, Copy)]
pub struct Counted<'a> {
    matrix: MatRef<'a>,
    cache: &'a RefCell<Cache>,
    /// Address of the first element; matrices that share a cache need addresses of their own.
    base: usize,
}

impl<'a> Counted<'a> {
    /// Reads of `matrix` are counted in `cache`, as if it began at byte `base`.
    pub fn new(matrix: MatRef<'a>, cache: &'a RefCell<Cache>, base: usize) -> Counted<'a> {
        Counted { matrix, cache, base }
    }
}

impl Grid for Counted<'_> {
    fn rows(&self) -> usize {
        self.matrix.rows
    }
    fn cols(&self) -> usize {
        self.matrix.cols
    }
    fn at(&self, i: usize, j: usize) -> f32 {
        let place = i * self.matrix.row_stride + j * self.matrix.col_stride;
        self.cache.borrow_mut().read(self.base + size_of::<f32>() * place);
        self.matrix.at(i, j)
    }
}
