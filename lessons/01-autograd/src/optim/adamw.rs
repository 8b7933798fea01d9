//! AdamW: each parameter has a step size of its own, and weights decay apart from the gradient.
//!
//! ```text
//! m = β₁ m + (1 - β₁) g          v = β₂ v + (1 - β₂) g²
//! x = x - rate · decay · x       x = x - rate · (m / (1 - β₁ᵗ)) / (√(v / (1 - β₂ᵗ)) + ε)
//! ```
//! Written as tensor expressions, these lines read and write each array several times. Here one pass over four slices
//! does all of it, so a step costs what it takes to stream them once: 28 bytes per parameter in `f32`.
//!
//! Source: Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2.

use ndarray::ArrayD;

use crate::error::{AutogradError, Result};
use crate::real::Real;
use crate::tensor::Tensor;

/// The constants of AdamW.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamWConfig {
    /// Size of a step; see [`AdamW::set_learning_rate`] for schedules.
    pub learning_rate: f64,
    /// Share of the old mean of the gradient that a step keeps.
    pub beta1: f64,
    /// Share of the old mean of the squared gradient that a step keeps.
    pub beta2: f64,
    /// Added to the denominator, so that the division stays finite.
    pub epsilon: f64,
    /// Share of a weight that is removed in each step, for a learning rate of 1.
    pub weight_decay: f64,
}

impl Default for AdamWConfig {
    fn default() -> Self {
        Self {
            learning_rate: 1e-3,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.01,
        }
    }
}

/// What an interrupted run needs, beside the constants, to continue with the same bits.
#[derive(Debug, Clone, PartialEq)]
pub struct AdamWState<T: Real = f32> {
    /// Number of steps taken.
    pub steps: u64,
    /// `m` per parameter, shaped like it.
    pub first_moments: Vec<ArrayD<T>>,
    /// `v` per parameter, shaped like it.
    pub second_moments: Vec<ArrayD<T>>,
}

/// The optimizer and its moments.
pub struct AdamW<T: Real = f32> {
    parameters: Vec<Tensor<T>>,
    decays: Vec<bool>,
    config: AdamWConfig,
    state: AdamWState<T>,
}

impl<T: Real> AdamW<T> {
    /// All parameters decay.
    pub fn new(parameters: Vec<Tensor<T>>, config: AdamWConfig) -> Self {
        Self::with_decay(parameters, config, |_| true)
    }

    /// Only parameters for which `decays` returns true decay (usually matrices, and not biases and norms).
    pub fn with_decay(parameters: Vec<Tensor<T>>, config: AdamWConfig, decays: impl Fn(&Tensor<T>) -> bool) -> Self {
        let zeros: Vec<_> = parameters.iter().map(|p| ArrayD::zeros(p.shape())).collect();
        let state = AdamWState {
            steps: 0,
            first_moments: zeros.clone(),
            second_moments: zeros,
        };
        let decays = parameters.iter().map(decays).collect();
        Self {
            parameters,
            decays,
            config,
            state,
        }
    }

    /// The learning rate of the next step.
    pub fn set_learning_rate(&mut self, learning_rate: f64) {
        self.config.learning_rate = learning_rate;
    }

    /// The constants.
    pub fn config(&self) -> &AdamWConfig {
        &self.config
    }

    /// Moments and step count, for a checkpoint.
    pub fn state(&self) -> &AdamWState<T> {
        &self.state
    }

    /// Continues from a checkpoint.
    ///
    /// # Errors
    /// [`AutogradError::State`] when a moment is missing or not shaped like its parameter; nothing is changed then.
    pub fn load_state(&mut self, state: AdamWState<T>) -> Result<()> {
        let expected: Vec<_> = self.parameters.iter().map(Tensor::shape).collect();
        for moments in [&state.first_moments, &state.second_moments] {
            let found: Vec<_> = moments.iter().map(|m| m.shape().to_vec()).collect();
            if found != expected {
                let (expected, found) = first_difference(&expected, &found);
                return Err(AutogradError::State { expected, found });
            }
        }
        // Row-major, so that `step` can take the moments as slices.
        let row_major = |moments: Vec<ArrayD<T>>| moments.into_iter().map(crate::storage::row_major).collect();
        self.state = AdamWState {
            steps: state.steps,
            first_moments: row_major(state.first_moments),
            second_moments: row_major(state.second_moments),
        };
        Ok(())
    }

    /// One step in place. A parameter without a gradient stays as it is, and so do its moments.
    pub fn step(&mut self) {
        self.state.steps += 1;
        let AdamWConfig {
            learning_rate,
            beta1,
            beta2,
            epsilon,
            weight_decay,
        } = self.config;
        let steps = self.state.steps as f64;
        // The corrections for moments that started at zero are folded into two factors, computed in f64.
        let factors = Factors {
            beta1: T::of(beta1),
            one_minus_beta1: T::of(1.0 - beta1),
            beta2: T::of(beta2),
            one_minus_beta2: T::of(1.0 - beta2),
            rate: T::of(learning_rate / (1.0 - beta1.powf(steps))),
            second: T::of(1.0 / (1.0 - beta2.powf(steps)).sqrt()),
            epsilon: T::of(epsilon),
            keep: T::one(),
        };
        let moments = self.state.first_moments.iter_mut().zip(&mut self.state.second_moments);
        for ((parameter, &decays), (first, second)) in self.parameters.iter().zip(&self.decays).zip(moments) {
            let Some(gradient) = parameter.grad() else {
                continue;
            };
            let keep = if decays {
                T::of(1.0 - learning_rate * weight_decay)
            } else {
                T::one()
            };
            let gradient = gradient.as_slice().expect("gradients are row-major");
            let first = first.as_slice_mut().expect("moments are row-major");
            let second = second.as_slice_mut().expect("moments are row-major");
            parameter.update(|value| {
                let value = value.as_slice_mut().expect("values are row-major");
                update(&Factors { keep, ..factors }, value, gradient, first, second);
            });
        }
    }

    /// Drops the gradients of all parameters.
    pub fn zero_grad(&self) {
        self.parameters.iter().for_each(Tensor::zero_grad);
    }
}

/// The factors of one step, in the type of the parameters.
#[derive(Clone, Copy)]
struct Factors<T> {
    beta1: T,
    one_minus_beta1: T,
    beta2: T,
    one_minus_beta2: T,
    rate: T,
    second: T,
    epsilon: T,
    keep: T,
}

/// The fused pass. All four slices have one length; the compiler turns the loop into SIMD.
fn update<T: Real>(f: &Factors<T>, value: &mut [T], gradient: &[T], first: &mut [T], second: &mut [T]) {
    assert!(value.len() == gradient.len() && first.len() == second.len() && value.len() == first.len());
    for (((x, &g), m), v) in value.iter_mut().zip(gradient).zip(first).zip(second) {
        *m = f.beta1 * *m + f.one_minus_beta1 * g;
        *v = f.beta2 * *v + f.one_minus_beta2 * g * g;
        *x = f.keep * *x - f.rate * *m / (v.sqrt() * f.second + f.epsilon);
    }
}

/// Says where two lists of shapes differ first.
fn first_difference(expected: &[Vec<usize>], found: &[Vec<usize>]) -> (String, String) {
    match expected
        .iter()
        .zip(found)
        .position(|(expected, found)| expected != found)
    {
        Some(i) => (
            format!("shape {:?} for parameter {i}", expected[i]),
            format!("{:?}", found[i]),
        ),
        None => (format!("{} moments", expected.len()), format!("{}", found.len())),
    }
}
