//! A matrix that the simple loops can read in any storage.

use crate::exercises;
use crate::gemm::MatRef;
use crate::lines::Cache;
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

/// A dense row-major matrix: a row is a slice, which is all that the compiler needs for vector instructions.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
}

impl<'a> Dense<'a> {
    /// A matrix `[rows, cols]`.
    ///
    /// # Panics
    /// If the data has another length.
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Dense<'a> {
        assert_eq!(
            data.len(),
            rows * cols,
            "{} numbers do not fill [{rows}, {cols}]",
            data.len()
        );
        Dense { data, rows, cols }
    }

    /// The same matrix as a factor of [`crate::gemm::gemm`].
    pub fn matrix(self) -> MatRef<'a> {
        MatRef::row_major(self.data, self.rows, self.cols)
    }
}

impl Grid for Dense<'_> {
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
        self.data[i * self.cols + j]
    }
    #[inline(always)]
    fn add_scaled_row(&self, i: usize, j: usize, factor: f32, sums: &mut [f32]) {
        let begin = i * self.cols + j;
        exercises::add_scaled(sums, factor, &self.data[begin..begin + sums.len()]);
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
