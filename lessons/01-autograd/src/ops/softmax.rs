//! From scores to probabilities, and from probabilities to a loss.
//!
//! Both subtract the largest score first: `exp(x - max) / Σ exp(x - max)` is the same number as without, and no
//! exponential overflows.

use ndarray::{ArrayD, ArrayViewD, Axis, Ix2, IxDyn};

use crate::error::{AutogradError, Result};
use crate::ops::index::check_indices;
use crate::ops::long::{sum_lane, sum_of};
use crate::ops::reduce::check_axis;
use crate::real::Real;
use crate::tape::{Saved, record};
use crate::tensor::Tensor;

impl<T: Real> Tensor<T> {
    /// Probabilities along one axis: `softmax(x)ᵢ = exp(xᵢ) / Σⱼ exp(xⱼ)`. The tape saves the output.
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn softmax(&self, axis: usize) -> Result<Self> {
        check_axis("softmax", axis, &self.shape())?;
        let mut value = self.value().clone();
        for mut lane in value.lanes_mut(Axis(axis)) {
            let max = lane.fold(T::neg_infinity(), |max, &x| max.max(x));
            lane.mapv_inplace(|x| (x - max).exp());
            let sum = sum_lane(lane.view());
            lane.mapv_inplace(|x| x / sum);
        }
        Ok(record("softmax", &[self], value, |output| {
            let output = Saved::new(output);
            Box::new(move |mut upstream| {
                let y = output.read()?;
                // yᵢ (gᵢ - Σⱼ gⱼ yⱼ): raising one score lowers every other probability.
                for (mut g, y) in upstream.lanes_mut(Axis(axis)).into_iter().zip(y.lanes(Axis(axis))) {
                    let mean = sum_of(g.iter().zip(&y).map(|(&g, &y)| g * y));
                    g.zip_mut_with(&y, |g, &y| *g = y * (*g - mean));
                }
                drop(y);
                Ok(vec![Some(upstream)])
            })
        }))
    }

    /// The mean over rows of `-ln softmax(row)[target]`, in nats. Shapes: scores `[rows, num_classes]`, one target per
    /// row; the result is `[]`. The tape saves the scores, without a copy, and one number per row.
    ///
    /// # Errors
    /// When the scores do not have two axes, there are no rows, the number of targets differs from that of rows, or a
    /// target is not below `num_classes`.
    pub fn cross_entropy(&self, targets: &[usize]) -> Result<Self> {
        let shape = self.shape();
        let (rows, num_classes) = match shape[..] {
            [rows, num_classes] if rows == targets.len() && rows > 0 => (rows, num_classes),
            _ => {
                return Err(AutogradError::Shape {
                    operation: "cross_entropy",
                    expected: "scores [rows, num_classes] with one target per row and at least one row".into(),
                    found: format!("scores {shape:?} and {} targets", targets.len()),
                    advice: "reshape the scores to two axes",
                });
            }
        };
        check_indices("cross_entropy", targets.iter().copied(), num_classes)?;
        let (loss, log_sums) = losses(self.value().view(), targets);
        let scale = T::one() / T::of(rows as f64);
        let value = ArrayD::from_elem(IxDyn(&[]), loss * scale);
        Ok(record("cross_entropy", &[self], value, |_| {
            let (scores, targets) = (Saved::new(self), targets.to_vec());
            Box::new(move |upstream| {
                let scale = scale * upstream[IxDyn(&[])];
                let mut gradient = scores.read()?.clone();
                // softmax - 1 at the target, softmax elsewhere.
                for ((mut row, &log_sum), &target) in gradient.outer_iter_mut().zip(&log_sums).zip(&targets) {
                    row.mapv_inplace(|x| (x - log_sum).exp() * scale);
                    row[target] -= scale;
                }
                Ok(vec![Some(gradient)])
            })
        }))
    }
}

/// The sum of the rows' losses, and per row `ln Σ exp(x)`.
fn losses<T: Real>(scores: ArrayViewD<'_, T>, targets: &[usize]) -> (T, Vec<T>) {
    let scores = scores.into_dimensionality::<Ix2>().expect("two axes were checked");
    let log_sums: Vec<T> = (scores.outer_iter())
        .map(|row| {
            let max = row.fold(T::neg_infinity(), |max, &x| max.max(x));
            max + sum_of(row.iter().map(|&x| (x - max).exp())).ln()
        })
        .collect();
    let rows = scores.outer_iter().zip(&log_sums).zip(targets);
    let loss = sum_of(rows.map(|((row, &log_sum), &t)| log_sum - row[t]));
    (loss, log_sums)
}
