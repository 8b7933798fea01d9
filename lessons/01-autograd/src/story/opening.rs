//! The opening: two trained networks, one of them by a wrong backward pass. And the runs that all steps look at.

use autograd::exercises::numeric_gradient;
use autograd::fit::{Fit, HIDDEN_SIZE, Variant, first_gradient, fit};
use autograd::gradcheck::relative_error;
use autograd::network::{Network, Wiring};
use autograd::spiral::Spiral;
use autograd::wrong::Walk;
use autograd::{Result, Tensor, no_grad};
use lab::story::{Choice, Prediction, Story};
use ndarray::ArrayD;

use super::picture;

/// Points on each arm.
pub const PER_ARM: usize = 100;

/// Steps of every training run here.
pub const STEPS: usize = 400;

/// The step of the finite differences here: the best one for this network, as the chart `step-size` shows.
pub const STEP: f64 = 1e-4;

/// One variant of the backward pass on one wiring.
pub struct Run {
    /// How gradients were computed.
    pub variant: Variant,
    /// On which network.
    pub wiring: Wiring,
    /// Distance of the first layer's gradient from finite differences at the start, as a share of its norm.
    pub error: f64,
    /// The training run.
    pub fit: Fit<f32>,
}

/// Everything that was trained for this story.
pub struct Runs {
    /// The data.
    pub spiral: Spiral,
    /// Of points and weights.
    pub seed: u64,
    /// Every variant on both wirings.
    pub all: Vec<Run>,
}

impl Runs {
    /// The run of one variant on one wiring.
    pub fn get(&self, wiring: Wiring, variant: Variant) -> &Run {
        self.all
            .iter()
            .find(|run| run.wiring == wiring && run.variant == variant)
            .expect("every pair was run")
    }
}

/// The gradient of the first layer's weight by finite differences, with a given step, at the initial weights.
pub fn numeric_first_gradient(wiring: Wiring, spiral: &Spiral, seed: u64, step: f64) -> ArrayD<f64> {
    let network = Network::<f64>::new(wiring, HIDDEN_SIZE, seed);
    let points = spiral.inputs::<f64>();
    let start = network.first_weight().value().clone();
    let loss_at = |weight: &ArrayD<f64>| {
        network.first_weight().update(|w| w.assign(weight));
        let loss = || -> Result<Tensor<f64>> { network.forward(&points)?.cross_entropy(&spiral.arms) };
        no_grad(loss)
            .and_then(|loss| loss.item())
            .expect("the shapes of this network fit")
    };
    numeric_gradient(loss_at, &start, step)
}

fn train_all(story: &Story) -> Result<Runs> {
    let seed = story.args().seed;
    let spiral = Spiral::new(PER_ARM, seed);
    let mut all = Vec::new();
    let bar = story.progress(2 * Variant::ALL.len() as u64, "training");
    for wiring in [Wiring::Plain, Wiring::Residual] {
        let numeric = numeric_first_gradient(wiring, &spiral, seed, STEP);
        for variant in Variant::ALL {
            let error = relative_error(&first_gradient(variant, wiring, &spiral, seed)?, &numeric);
            all.push(Run {
                variant,
                wiring,
                error,
                fit: fit(variant, wiring, &spiral, STEPS, seed)?,
            });
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(Runs { spiral, seed, all })
}

/// Trains, shows the two pictures and asks which of them is wrong.
pub fn tell(story: &mut Story) -> anyhow::Result<Runs> {
    let runs = train_all(story)?;
    let wrong = runs.get(Wiring::Residual, Variant::Walk(Walk::Overwrite));
    let right = runs.get(Wiring::Residual, Variant::Walk(Walk::Correct));
    picture::side_by_side(
        story,
        ["Network A", "Network B"],
        [&wrong.fit.network, &right.fit.network],
        &runs.spiral,
    )?;
    let (loss_a, loss_b) = (wrong.fit.losses[STEPS], right.fit.losses[STEPS]);
    let hits = |run: &Run| format!("{:.0} % right", 100.0 * run.fit.accuracy);
    let (hits_a, hits_b) = (hits(wrong), hits(right));
    story.print(format!(
        "   {:<34}   {}\n",
        format!("loss {loss_a:.5}, {hits_a}"),
        format_args!("loss {loss_b:.5}, {hits_b}")
    ));
    story.values("loss_a", loss_a);
    story.values("loss_b", loss_b);
    story.values("first_layer_gradient_error_a", wrong.error);
    story.values("first_layer_gradient_error_b", right.error);
    let share = 100.0 * wrong.error;
    let question = format!(
        "Same data, same start, {STEPS} steps. One of the two learnt from a first-layer gradient that is wrong by {share:.0} % of its size. Which one?"
    );
    let because = format!(
        "It was A: its backward pass overwrites a gradient where it should add to it. The loss went from {:.3} to {loss_a:.5}, B's to {loss_b:.5}. A falling loss says that a step went downhill, not that it went the steepest way.",
        wrong.fit.losses[0]
    );
    story.predict(Prediction {
        id: "which-is-wrong",
        question: &question,
        options: &[
            Choice {
                text: "A: it must be the one that looks worse",
                answer_to_wrong: Some(
                    "A it is, but nothing on this screen shows it: swap the two names and you would say the same.",
                ),
            },
            Choice {
                text: "B: it must be the one that looks worse",
                answer_to_wrong: Some(
                    "B is the right one. Small differences between two trained networks are no evidence.",
                ),
            },
            Choice {
                text: "Neither picture nor loss can tell",
                answer_to_wrong: None,
            },
        ],
        answer: 2,
        because: &because,
    });
    Ok(runs)
}
