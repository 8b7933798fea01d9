//! The same product by other libraries, for races: each called as its documentation says, on the same matrices.

use crate::gemm::{MatMut, MatRef};
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder};

/// c = a b by `ndarray` (the `matrixmultiply` crate below it, with all its threads). Shapes: `[m, k]`, `[k, n]`,
/// `[m, n]`, any strides.
///
/// # Panics
/// If the shapes do not fit together.
pub fn by_ndarray(a: MatRef, b: MatRef, c: MatMut) {
    let shape = (c.rows, c.cols).strides((c.row_stride, c.col_stride));
    let mut target = ArrayViewMut2::from_shape(shape, c.data).expect("c lies within its data");
    general_mat_mul(1.0, &view(a), &view(b), 0.0, &mut target);
}

fn view(m: MatRef<'_>) -> ArrayView2<'_, f32> {
    let shape = (m.rows, m.cols).strides((m.row_stride, m.col_stride));
    ArrayView2::from_shape(shape, m.data).expect("a matrix lies within its data")
}

/// c = a b by the `gemm` crate. Shapes as in [`by_ndarray`].
///
/// # Panics
/// If the shapes do not fit together.
pub fn by_gemm_crate(threads: usize, a: MatRef, b: MatRef, c: MatMut) {
    assert!(
        a.cols == b.rows && c.rows == a.rows && c.cols == b.cols,
        "a is [{}, {}], b [{}, {}], c [{}, {}]",
        a.rows,
        a.cols,
        b.rows,
        b.cols,
        c.rows,
        c.cols
    );
    a.check_reach("a");
    b.check_reach("b");
    c.check_reach("c");
    let parallelism = match threads {
        1 => gemm::Parallelism::None,
        threads => gemm::Parallelism::Rayon(threads),
    };
    // SAFETY: each matrix lies within its data, as asserted, and the shapes fit together.
    unsafe {
        gemm::gemm(
            c.rows,
            c.cols,
            a.cols,
            c.data.as_mut_ptr(),
            c.col_stride as isize,
            c.row_stride as isize,
            false,
            a.data.as_ptr(),
            a.col_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.col_stride as isize,
            b.row_stride as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::{Write, gemm};
    use crate::pool::Pool;

    #[test]
    fn the_company_computes_the_same_product() {
        let (m, k, n) = (5, 33, 70);
        let number = |i: usize| ((i * 37 + 11) % 64) as f32 / 32.0 - 1.0;
        let a: Vec<f32> = (0..m * k).map(number).collect();
        let w: Vec<f32> = (0..n * k).map(number).collect();
        let (a, b) = (MatRef::row_major(&a, m, k), MatRef::row_major(&w, n, k).t());
        let mut ours = vec![0.0; m * n];
        gemm(
            &Pool::new(1),
            a,
            b,
            &mut MatMut::row_major(&mut ours, m, n),
            Write::Overwrite,
        );
        let (mut first, mut second) = (vec![0.0; m * n], vec![0.0; m * n]);
        by_ndarray(a, b, MatMut::row_major(&mut first, m, n));
        by_gemm_crate(1, a, b, MatMut::row_major(&mut second, m, n));
        for ((ours, first), second) in ours.iter().zip(&first).zip(&second) {
            assert!((ours - first).abs() < 1e-4, "ndarray: {first} instead of {ours}");
            assert!((ours - second).abs() < 1e-4, "gemm crate: {second} instead of {ours}");
        }
    }
}
