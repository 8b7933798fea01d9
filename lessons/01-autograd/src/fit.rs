//! Training the network on the spiral, with the right backward pass or with a wrong one.

use crate::error::Result;
use crate::network::{Network, Wiring};
use crate::optim::{AdamW, AdamWConfig};
use crate::real::Real;
use crate::spiral::Spiral;
use crate::tape::no_grad;
use crate::tensor::Tensor;
use crate::wrong::{Walk, backward_by, unchecked_matmul};

/// How gradients are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Forward, backward by this walk, step.
    Walk(Walk),
    /// Forward, *step*, backward: the parameters change in place while the tape still needs them, and the matrix
    /// products do not check.
    StepBeforeBackward,
}

impl Variant {
    /// All variants, the right one first.
    pub const ALL: [Variant; 5] = [
        Variant::Walk(Walk::Correct),
        Variant::Walk(Walk::PerPath),
        Variant::Walk(Walk::Overwrite),
        Variant::Walk(Walk::Resend),
        Variant::StepBeforeBackward,
    ];

    /// Name in charts and tables.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Walk(walk) => walk.name(),
            Variant::StepBeforeBackward => "changed in place",
        }
    }
}

/// Size of a hidden layer.
pub const HIDDEN_SIZE: usize = 32;

/// The optimizer of every run here.
pub const OPTIMIZER: AdamWConfig = AdamWConfig {
    learning_rate: 0.01,
    beta1: 0.9,
    beta2: 0.99,
    epsilon: 1e-8,
    weight_decay: 0.01,
};

/// A trained network and how it got there.
pub struct Fit<T: Real = f32> {
    /// The network with its trained parameters.
    pub network: Network<T>,
    /// Loss before each step and after the last one, in nats per point.
    pub losses: Vec<f64>,
    /// Share of points on the right side after the last step, 0 to 1.
    pub accuracy: f64,
}

/// Trains for a number of steps over all points at once. Deterministic.
///
/// # Errors
/// Never for a spiral; the operations' own.
pub fn fit<T: Real>(variant: Variant, wiring: Wiring, spiral: &Spiral, steps: usize, seed: u64) -> Result<Fit<T>> {
    let network = Network::<T>::new(wiring, HIDDEN_SIZE, seed);
    let points = spiral.inputs::<T>();
    let mut optimizer = AdamW::new(network.parameters(), OPTIMIZER);
    let mut losses = Vec::with_capacity(steps + 1);
    for _ in 0..steps {
        let loss = match variant {
            Variant::Walk(walk) => {
                let loss = network.forward(&points)?.cross_entropy(&spiral.arms)?;
                optimizer.zero_grad();
                backward_by(walk, &loss)?;
                optimizer.step();
                loss
            }
            Variant::StepBeforeBackward => {
                let loss = network
                    .forward_by(unchecked_matmul, &points)?
                    .cross_entropy(&spiral.arms)?;
                optimizer.step(); // with the gradients of the step before
                optimizer.zero_grad();
                loss.backward()?;
                loss
            }
        };
        losses.push(loss.item()?.as_f64());
    }
    let scores = no_grad(|| network.forward(&points))?;
    losses.push(scores.cross_entropy(&spiral.arms)?.item()?.as_f64());
    Ok(Fit {
        accuracy: accuracy(&scores, &spiral.arms),
        network,
        losses,
    })
}

/// The gradient of the first layer's weight by a variant, at the seed's initial parameters.
///
/// # Errors
/// Never for a spiral; the operations' own.
pub fn first_gradient<T: Real>(
    variant: Variant,
    wiring: Wiring,
    spiral: &Spiral,
    seed: u64,
) -> Result<ndarray::ArrayD<T>> {
    let network = Network::<T>::new(wiring, HIDDEN_SIZE, seed);
    let points = spiral.inputs::<T>();
    match variant {
        Variant::Walk(walk) => {
            backward_by(walk, &network.forward(&points)?.cross_entropy(&spiral.arms)?)?;
        }
        Variant::StepBeforeBackward => {
            let mut optimizer = AdamW::new(network.parameters(), OPTIMIZER);
            network.forward(&points)?.cross_entropy(&spiral.arms)?.backward()?;
            let loss = network
                .forward_by(unchecked_matmul, &points)?
                .cross_entropy(&spiral.arms)?;
            optimizer.step();
            optimizer.zero_grad();
            loss.backward()?;
        }
    }
    Ok(network
        .first_weight()
        .take_grad()
        .expect("the loss depends on the first layer"))
}

/// The share of rows whose larger score is the target's.
fn accuracy<T: Real>(scores: &Tensor<T>, targets: &[usize]) -> f64 {
    let scores = scores.value();
    let hits = scores
        .outer_iter()
        .zip(targets)
        .filter(|(row, target)| usize::from(row[1] > row[0]) == **target);
    hits.count() as f64 / targets.len() as f64
}
