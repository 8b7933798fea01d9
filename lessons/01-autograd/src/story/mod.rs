//! The steps of the story, one module each, in the order in which they are told.

mod differences;
mod in_place;
mod keeping;
mod opening;
mod picture;
mod twice;
mod wirings;

use autograd::exercises::numeric_gradient;
use autograd::fit::{Fit, HIDDEN_SIZE, Variant, first_gradient, fit};
use autograd::gradcheck::relative_error;
use autograd::network::{Network, Wiring};
use autograd::spiral::Spiral;
use autograd::wrong::Walk;
use autograd::{Real, Result, no_grad};
use lab::args::CommonArgs;
use lab::story::{LessonInfo, Story};
use ndarray::ArrayD;

const INFO: LessonInfo = LessonInfo {
    folder: "01-autograd",
    course: include_str!("../../course.toml"),
};

/// Points on each arm of the spiral.
const PER_ARM: usize = 100;
/// Steps of every training run.
const STEPS: usize = 400;
/// Step of the finite differences: the best one for this network, as the chart `step-size` shows.
const STEP: f64 = 1e-4;

/// Points of a line in a chart.
type Curve = Vec<(f64, f64)>;

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    let mut story = Story::begin(INFO, args);
    let runs = Runs::train(&story)?;
    opening::two_networks(&mut story, &runs)?;
    differences::step_size(&mut story, &runs)?;
    twice::doublings(&mut story)?;
    wirings::errors(&mut story, &runs)?;
    wirings::losses(&mut story, &runs)?;
    in_place::versions(&mut story, &runs)?;
    keeping::memory(&mut story, &runs)?;
    keeping::forgotten(&mut story)?;
    keeping::recompute(&mut story)?;
    keeping::depth(&mut story)?;
    story.finish()
}

/// One backward pass on one network.
struct Run {
    variant: Variant,
    wiring: Wiring,
    /// Distance of the first layer's gradient from finite differences at the initial weights, as a share of its norm.
    error: f64,
    fit: Fit<f32>,
}

/// The training runs that all steps look at: every variant of the backward pass on both networks.
struct Runs {
    spiral: Spiral,
    /// Seed of points and weights.
    seed: u64,
    all: Vec<Run>,
}

impl Runs {
    fn train(story: &Story) -> Result<Self> {
        let seed = story.args().seed;
        let spiral = Spiral::new(PER_ARM, seed);
        let mut all = Vec::new();
        let bar = story.progress(2 * Variant::ALL.len() as u64, "training");
        for wiring in [Wiring::Plain, Wiring::Residual] {
            let numeric = numeric_first_gradient::<f64>(wiring, &spiral, seed, STEP);
            for variant in Variant::ALL {
                let error = relative_error(&first_gradient(variant, wiring, &spiral, seed)?, &numeric);
                let fit = fit(variant, wiring, &spiral, STEPS, seed)?;
                all.push(Run {
                    variant,
                    wiring,
                    error,
                    fit,
                });
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        Ok(Self { spiral, seed, all })
    }

    fn get(&self, wiring: Wiring, variant: Variant) -> &Run {
        let mut runs = self.all.iter();
        let is_wanted = |run: &&Run| run.wiring == wiring && run.variant == variant;
        runs.find(is_wanted).expect("every pair was run")
    }

    fn residual(&self, walk: Walk) -> &Run {
        self.get(Wiring::Residual, Variant::Walk(walk))
    }
}

/// The gradient of the first layer's weight by finite differences at the initial weights. The loss is computed in `T`.
fn numeric_first_gradient<T: Real>(wiring: Wiring, spiral: &Spiral, seed: u64, step: f64) -> ArrayD<f64> {
    let network = Network::<T>::new(wiring, HIDDEN_SIZE, seed);
    let points = spiral.inputs::<T>();
    let start = network.first_weight().value().mapv(T::as_f64);
    let loss_at = |weight: &ArrayD<f64>| {
        let set = |w: &mut ArrayD<T>| w.zip_mut_with(weight, |w, &x| *w = T::of(x));
        network.first_weight().update(set);
        let loss = no_grad(|| network.forward(&points)?.cross_entropy(&spiral.arms)?.item());
        loss.expect("the shapes of this network fit").as_f64()
    };
    numeric_gradient(loss_at, &start, step)
}
