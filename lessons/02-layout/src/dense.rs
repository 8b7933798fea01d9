//! A dense matrix for the simple loops.

use crate::exercises;
use crate::grid::Grid;
use crate::matrix::MatRef;

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
