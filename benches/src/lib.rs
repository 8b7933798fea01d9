//! Benches over all lessons: `cargo bench -p ladder -- matmul`.
//!
//! A bench answers two questions. *Is it faster than it was?* Criterion keeps the history of each measurement and draws it
//! (`target/criterion/report/index.html`). *Is it fast?* Each bench first prints what the machine could do, measured in the same
//! run, and how much of it is reached, beside other libraries that take turns with ours. This crate holds the products of those
//! libraries, each called as its documentation says, on the same row-major matrices.

use layout::aligned::Aligned;
use layout::gemm::{MatMut, MatRef};
use layout::packed::PackedMatrix;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};

/// Several equal weight matrices, used in turn, so that none of them is still in a cache when its turn comes.
///
/// A model's weights are read once for each token, so this is how inference meets them.
pub struct ColdWeights {
    /// Row-major `[out_features, in_features]` on huge pages: what the libraries read.
    pub plain: Vec<Aligned<f32>>,
    /// The same numbers packed: what lesson 02 reads.
    pub packed: Vec<PackedMatrix>,
    next: usize,
}

impl ColdWeights {
    /// Random matrices of this shape, as many as make `bytes` together.
    pub fn new(out_features: usize, in_features: usize, bytes: usize) -> ColdWeights {
        let numbers = out_features * in_features;
        let copies = bytes.div_ceil(4 * numbers).max(2);
        let plain: Vec<_> = (0..copies)
            .map(|copy| {
                let mut weights = Aligned::zeros(numbers);
                weights.copy_from_slice(&random(numbers, copy as u64));
                weights
            })
            .collect();
        let packed = plain
            .iter()
            .map(|w| PackedMatrix::from_f32(w, out_features, in_features))
            .collect();
        ColdWeights {
            plain,
            packed,
            next: 0,
        }
    }

    /// The number of the matrix whose turn it is.
    pub fn turn(&mut self) -> usize {
        self.next = (self.next + 1) % self.plain.len();
        self.next
    }
}

/// Numbers between -1 and 1, the same ones for the same seed. (Zeros would be multiplied as fast, but hide mistakes.)
pub fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect()
}

/// `out = x wᵀ` by `ndarray` (the `matrixmultiply` crate below it, with all its threads).
///
/// # Panics
/// If the shapes do not fit.
pub fn by_ndarray(x: MatRef, w: MatRef, out: MatMut) {
    let view = |m: MatRef<'_>| (m.rows, m.cols);
    let x = ArrayView2::from_shape(view(x), x.data).expect("x is dense");
    let w = ArrayView2::from_shape(view(w), w.data).expect("w is dense");
    let mut out = ArrayViewMut2::from_shape((out.rows, out.cols), out.data).expect("out is dense");
    general_mat_mul(1.0, &x, &w.t(), 0.0, &mut out);
}

/// `out = x wᵀ` by the `gemm` crate.
///
/// # Panics
/// If the shapes do not fit.
pub fn by_gemm_crate(threads: usize, x: MatRef, w: MatRef, out: MatMut) {
    let b = w.t();
    assert!(
        x.cols == b.rows && out.rows == x.rows && out.cols == b.cols,
        "shapes"
    );
    let dense = |data: usize, rows: usize, cols: usize| assert!(data >= rows * cols, "too short");
    dense(x.data.len(), x.rows, x.cols);
    dense(b.data.len(), b.rows, b.cols);
    dense(out.data.len(), out.rows, out.cols);
    let parallelism = match threads {
        1 => gemm::Parallelism::None,
        threads => gemm::Parallelism::Rayon(threads),
    };
    // SAFETY: the three matrices are dense and have these shapes, as asserted above.
    unsafe {
        gemm::gemm(
            out.rows,
            out.cols,
            x.cols,
            out.data.as_mut_ptr(),
            out.col_stride as isize,
            out.row_stride as isize,
            false,
            x.data.as_ptr(),
            x.col_stride as isize,
            x.row_stride as isize,
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
    use layout::pool::Pool;

    #[test]
    fn the_company_computes_the_same_product() {
        let (rows, n, k) = (5, 70, 33);
        let (x, w) = (random(rows * k, 1), random(n * k, 2));
        let mut ours = vec![0.0; rows * n];
        PackedMatrix::from_f32(&w, n, k).matmul(&Pool::new(1), &x, rows, &mut ours);
        for company in ["ndarray", "gemm crate"] {
            let mut out = vec![0.0; rows * n];
            let (x, w) = (MatRef::row_major(&x, rows, k), MatRef::row_major(&w, n, k));
            let target = MatMut::row_major(&mut out, rows, n);
            match company {
                "ndarray" => by_ndarray(x, w, target),
                _ => by_gemm_crate(1, x, w, target),
            }
            for (a, b) in ours.iter().zip(&out) {
                assert!((a - b).abs() < 1e-4, "{company}: {b} instead of {a}");
            }
        }
    }
}
