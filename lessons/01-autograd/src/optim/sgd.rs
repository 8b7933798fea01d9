//! Stochastic gradient descent.

use crate::real::Real;
use crate::tensor::Tensor;

/// Plain gradient descent, with momentum if asked for.
pub struct Sgd<T: Real = f32> {
    parameters: Vec<Tensor<T>>,
    velocities: Vec<Vec<T>>,
    learning_rate: f64,
    momentum: f64,
}

impl<T: Real> Sgd<T> {
    /// An optimizer without momentum for `parameters`.
    pub fn new(parameters: Vec<Tensor<T>>, learning_rate: f64) -> Self {
        Self {
            parameters,
            velocities: Vec::new(),
            learning_rate,
            momentum: 0.0,
        }
    }

    /// Adds a velocity: `v = momentum v + g`, and the step goes along `v`.
    pub fn with_momentum(mut self, momentum: f64) -> Self {
        self.momentum = momentum;
        self.velocities = self.parameters.iter().map(|p| vec![T::zero(); p.len()]).collect();
        self
    }

    /// The learning rate of the next step.
    pub fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }

    /// One step in place; parameters without a gradient stay. Cost: one pass over the elements.
    pub fn step(&mut self) {
        let (rate, momentum) = (T::of(self.learning_rate), T::of(self.momentum));
        for (place, parameter) in self.parameters.iter().enumerate() {
            let Some(gradient) = parameter.grad() else {
                continue;
            };
            let velocity = self.velocities.get_mut(place);
            parameter.update(|value| match velocity {
                None => value.zip_mut_with(&gradient, |x, &g| *x -= rate * g),
                Some(velocity) => {
                    for ((x, &g), v) in value.iter_mut().zip(gradient.iter()).zip(velocity) {
                        *v = momentum * *v + g;
                        *x -= rate * *v;
                    }
                }
            });
        }
    }

    /// Drops the gradients of all parameters.
    pub fn zero_grad(&self) {
        self.parameters.iter().for_each(Tensor::zero_grad);
    }
}
