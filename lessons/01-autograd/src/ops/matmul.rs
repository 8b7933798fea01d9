//! The matrix product, one pair of matrices or many.

use lab::ledger;
use ndarray::{Array2, ArrayD, ArrayView2, ArrayViewD, Axis, Dimension, Ix2, IxDyn};

use crate::error::{AutogradError, Result};
use crate::exercises::matmul_backward;
use crate::ops::broadcast::{broadcast_shape, checked_len};
use crate::ops::long::sum_back;
use crate::real::Real;
use crate::tape::{Saved, record};
use crate::tensor::Tensor;

impl<T: Real> Tensor<T> {
    /// The matrix product over the last two axes: `[.., m, k]` times `[.., k, n]` is `[.., m, n]`, the outer axes
    /// broadcast. Cost: m·k·n multiply-adds per pair. The tape saves both operands, without a copy.
    ///
    /// # Errors
    /// When an operand has fewer than two axes, the inner sizes differ, or the outer axes do not broadcast.
    pub fn matmul(&self, other: &Self) -> Result<Self> {
        let batch = Batch::new(&self.shape(), &other.shape())?;
        let value = batch.product(&self.value(), &other.value());
        Ok(record("matmul", &[self, other], value, |_| {
            let (a, b) = (Saved::new(self), Saved::new(other));
            let wanted = (self.is_recorded(), other.is_recorded());
            Box::new(move |upstream| {
                let (for_a, for_b) = batch.gradients(&*a.read()?, &*b.read()?, &upstream);
                Ok(vec![wanted.0.then_some(for_a), wanted.1.then_some(for_b)])
            })
        }))
    }
}

/// The sizes of a batched product.
struct Batch {
    outer: Vec<usize>,
    m: usize,
    k: usize,
    n: usize,
}

impl Batch {
    fn new(left: &[usize], right: &[usize]) -> Result<Self> {
        let misfit = |expected: &str| AutogradError::Shape {
            operation: "matmul",
            expected: expected.to_string(),
            found: format!("{left:?} and {right:?}"),
            advice: "permute or reshape one of them",
        };
        let ([left_outer @ .., m, k], [right_outer @ .., k_right, n]) = (left, right) else {
            return Err(misfit("two axes or more on both sides, [.., m, k] and [.., k, n]"));
        };
        if k != k_right {
            return Err(misfit("equal inner sizes, [.., m, k] and [.., k, n]"));
        }
        let outer = broadcast_shape("matmul", left_outer, right_outer)
            .map_err(|_| misfit("outer axes that broadcast, [.., m, k] and [.., k, n]"))?;
        checked_len("matmul", &[outer.as_slice(), &[*m, *n]].concat())?;
        checked_len("matmul", &[outer.as_slice(), &[*m, *k]].concat())?;
        checked_len("matmul", &[outer.as_slice(), &[*k, *n]].concat())?;
        Ok(Self {
            outer,
            m: *m,
            k: *k,
            n: *n,
        })
    }

    /// Multiply-adds of the product.
    fn multiply_adds(&self) -> u64 {
        (self.outer.iter().product::<usize>() * self.m * self.k * self.n) as u64
    }

    fn product<T: Real>(&self, a: &ArrayD<T>, b: &ArrayD<T>) -> ArrayD<T> {
        ledger::count(|ledger| ledger.multiply_adds += self.multiply_adds());
        let shape = [self.outer.as_slice(), &[self.m, self.n]].concat();
        if let Some((a, b)) = self.as_one_product(a, b) {
            return reshaped(a.dot(&b), &shape);
        }
        let mut value = ArrayD::zeros(shape);
        let (a, b) = (self.spread(a, [self.m, self.k]), self.spread(b, [self.k, self.n]));
        for index in indices(&self.outer) {
            let product = matrix_at(a.view(), &index).dot(&matrix_at(b.view(), &index));
            let mut place = value.view_mut();
            for &i in &index {
                place = place.index_axis_move(Axis(0), i);
            }
            place.assign(&product);
        }
        value
    }

    /// Gradients of both operands, in their own shapes.
    fn gradients<T: Real>(&self, a: &ArrayD<T>, b: &ArrayD<T>, upstream: &ArrayD<T>) -> (ArrayD<T>, ArrayD<T>) {
        ledger::count(|ledger| ledger.multiply_adds += 2 * self.multiply_adds());
        if let Some((a_rows, b_matrix)) = self.as_one_product(a, b) {
            let rows = a_rows.nrows();
            let upstream = upstream
                .view()
                .into_shape_with_order((rows, self.n))
                .expect("gradients are row-major");
            let (for_a, for_b) = matmul_backward(a_rows, b_matrix, upstream);
            return (reshaped(for_a, a.shape()), for_b.into_dyn());
        }
        // Per pair of matrices, then summed over whatever was broadcast.
        let mut all_for_a = ArrayD::zeros([self.outer.as_slice(), &[self.m, self.k]].concat());
        let mut all_for_b = ArrayD::zeros([self.outer.as_slice(), &[self.k, self.n]].concat());
        let (a_spread, b_spread) = (self.spread(a, [self.m, self.k]), self.spread(b, [self.k, self.n]));
        for index in indices(&self.outer) {
            let (a, b) = (matrix_at(a_spread.view(), &index), matrix_at(b_spread.view(), &index));
            let (for_a, for_b) = matmul_backward(a, b, matrix_at(upstream.view(), &index));
            for (all, one) in [(&mut all_for_a, for_a), (&mut all_for_b, for_b)] {
                let mut place = all.view_mut();
                for &i in &index {
                    place = place.index_axis_move(Axis(0), i);
                }
                place.assign(&one);
            }
        }
        (sum_back(all_for_a, a.shape()), sum_back(all_for_b, b.shape()))
    }

    /// One matrix on the right serves all rows on the left: `[.., m, k]` read as `[rows, k]`, one large product.
    fn as_one_product<'a, T: Real>(
        &self,
        a: &'a ArrayD<T>,
        b: &'a ArrayD<T>,
    ) -> Option<(ArrayView2<'a, T>, ArrayView2<'a, T>)> {
        let b = b.view().into_dimensionality::<Ix2>().ok()?;
        let rows = self.outer.iter().product::<usize>() * self.m;
        let a = a
            .view()
            .into_shape_with_order((rows, self.k))
            .expect("values are row-major");
        Some((a, b))
    }

    /// The operand as if it had all outer axes: stride 0 where it is repeated, no copy.
    fn spread<'a, T: Real>(&self, operand: &'a ArrayD<T>, matrix: [usize; 2]) -> ArrayViewD<'a, T> {
        let shape = [self.outer.as_slice(), &matrix].concat();
        operand.broadcast(shape).expect("the outer shape was checked")
    }
}

/// The matrix at `index` of the outer axes.
fn matrix_at<'a, T: Real>(mut operand: ArrayViewD<'a, T>, index: &[usize]) -> ArrayView2<'a, T> {
    for &i in index {
        operand = operand.index_axis_move(Axis(0), i);
    }
    operand.into_dimensionality().expect("two axes are left")
}

/// All indices into `shape`, last axis fastest.
fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    ndarray::indices(IxDyn(shape))
        .into_iter()
        .map(|index| index.as_array_view().to_vec())
}

/// The product as an array of the given shape.
fn reshaped<T: Real>(product: Array2<T>, shape: &[usize]) -> ArrayD<T> {
    let product = product.as_standard_layout().into_owned();
    product
        .into_shape_with_order(shape)
        .expect("same number of elements, row-major")
}
