//! Matrices over borrowed numbers, with any strides.

/// A matrix over borrowed storage: element (i, j) is `data[i * row_stride + j * col_stride]`. Strides are in elements.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<D> {
    /// The storage; may be larger than the matrix.
    pub data: D,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Elements from one row to the next.
    pub row_stride: usize,
    /// Elements from one column to the next.
    pub col_stride: usize,
}

/// A matrix that is read.
pub type MatRef<'a> = Matrix<&'a [f32]>;
/// A matrix that is written.
pub type MatMut<'a> = Matrix<&'a mut [f32]>;

impl<D> Matrix<D> {
    /// A dense row-major matrix `[rows, cols]`.
    pub fn row_major(data: D, rows: usize, cols: usize) -> Matrix<D> {
        Matrix {
            data,
            rows,
            cols,
            row_stride: cols,
            col_stride: 1,
        }
    }

    /// The transpose: swaps two pairs of numbers, moves no data.
    pub fn t(self) -> Matrix<D> {
        Matrix {
            data: self.data,
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }
}

impl<D: AsRef<[f32]>> Matrix<D> {
    /// Panics if the matrix reaches past its storage.
    pub(crate) fn check_reach(&self, name: &str) {
        let Matrix {
            rows,
            cols,
            row_stride,
            col_stride,
            ..
        } = *self;
        if rows > 0 && cols > 0 {
            let (last, len) = (
                (rows - 1) * row_stride + (cols - 1) * col_stride,
                self.data.as_ref().len(),
            );
            assert!(
                last < len,
                "{name} [{rows}, {cols}] with strides {row_stride} and {col_stride} reaches element {last} of {len}"
            );
        }
    }
}

impl<'a> MatRef<'a> {
    /// Rows `row .. row + rows` and columns `col .. col + cols`, in place. An empty matrix keeps its storage.
    pub(crate) fn block(self, row: usize, rows: usize, col: usize, cols: usize) -> MatRef<'a> {
        let begin = row * self.row_stride + col * self.col_stride;
        let data = self.data.get(begin..).unwrap_or_default();
        MatRef {
            data,
            rows,
            cols,
            ..self
        }
    }
}
