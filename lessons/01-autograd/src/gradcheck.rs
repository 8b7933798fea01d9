//! Is this gradient right? The check that needs no trust in the tape: compare with finite differences.

use ndarray::ArrayD;

use crate::error::Result;
use crate::exercises::numeric_gradient;
use crate::tensor::Tensor;

/// The step that serves best in `f64` for functions of ordinary curvature: near the cube root of its epsilon.
pub const STEP: f64 = 6e-6;

/// How far `found` is from `expected`, as a share of `expected`'s Euclidean norm. Zero when both are zero.
///
/// # Panics
/// When the shapes differ.
// ANCHOR: relative_error
pub fn relative_error(found: &ArrayD<f64>, expected: &ArrayD<f64>) -> f64 {
    assert_eq!(found.shape(), expected.shape(), "gradients of one value have one shape");
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut found.iter().zip(expected).map(|(f, e)| f - e));
    let size = norm(&mut expected.iter().copied());
    if difference == 0.0 {
        0.0
    } else {
        difference / size.max(f64::MIN_POSITIVE)
    }
}
// ANCHOR_END: relative_error

/// The tape's gradient and the numeric one, for one input.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The gradient from the tape's backward pass.
    pub tape: ArrayD<f64>,
    /// The gradient from [`numeric_gradient`].
    pub numeric: ArrayD<f64>,
}

impl Comparison {
    /// How far the tape is from the numeric gradient, relative to the latter's norm.
    pub fn error(&self) -> f64 {
        relative_error(&self.tape, &self.numeric)
    }
}

/// Computes `function` on a tape, and twice per element of every input without one, and returns both gradients of
/// each input.
///
/// # Errors
/// Those of `function` and of its backward pass.
pub fn check(
    function: impl Fn(&[Tensor<f64>]) -> Result<Tensor<f64>>,
    inputs: &[ArrayD<f64>],
) -> Result<Vec<Comparison>> {
    let parameters: Vec<_> = inputs.iter().cloned().map(Tensor::parameter).collect();
    function(&parameters)?.backward()?;
    let constants: Vec<_> = inputs.iter().cloned().map(Tensor::new).collect();
    let mut comparisons = Vec::with_capacity(inputs.len());
    for (place, input) in inputs.iter().enumerate() {
        let mut failed = None;
        let value_at = |moved: &ArrayD<f64>| {
            let mut arguments = constants.clone();
            arguments[place] = Tensor::new(moved.clone());
            function(&arguments)
                .and_then(|output| output.item())
                .unwrap_or_else(|error| {
                    failed.get_or_insert(error);
                    f64::NAN
                })
        };
        let numeric = numeric_gradient(value_at, input, STEP);
        if let Some(error) = failed {
            return Err(error);
        }
        let tape = parameters[place]
            .take_grad()
            .unwrap_or_else(|| ArrayD::zeros(input.shape()));
        comparisons.push(Comparison { tape, numeric });
    }
    Ok(comparisons)
}
