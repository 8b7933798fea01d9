//! Step: the check that needs no trust. Finite differences, and how small their step should be.

use autograd::fit::{HIDDEN_SIZE, Variant, first_gradient};
use autograd::gradcheck::relative_error;
use autograd::network::{Network, Wiring};
use autograd::spiral::Spiral;
use autograd::wrong::Walk;
use autograd::{Result, Tensor, no_grad};
use lab::chart::Chart;
use lab::story::{Choice, Prediction, Story};
use ndarray::ArrayD;

use super::Curve;
use super::opening::{Runs, STEP, numeric_first_gradient};

pub fn tell(story: &mut Story, runs: &Runs) -> anyhow::Result<()> {
    story.step(
        "Ask the function itself",
        "A gradient is a promise: move this weight by h and the loss moves by h times me. So move it, and look.",
    );
    let (spiral, seed) = (&runs.spiral, runs.seed);
    let tape = first_gradient::<f64>(Variant::Walk(Walk::Correct), Wiring::Residual, spiral, seed)?;
    let numeric = numeric_first_gradient(Wiring::Residual, spiral, seed, STEP);
    story.show(
        "first layer's weight",
        format!("{:?}: {} numbers", tape.shape(), tape.len()),
    );
    story.show(
        "(f(w+h) - f(w-h)) / 2h",
        format!("{:.9} for its first number", numeric[[0, 0]]),
    );
    story.show("the tape says", format!("{:.9}", tape[[0, 0]]));
    let error = relative_error(&tape, &numeric);
    story.show_as(
        "whole weight, difference",
        error,
        format_args!("{error:.1e} of the gradient's norm"),
    );
    let passes = 2 * tape.len();
    story.say(format!(
        "It took {passes} forward passes to check one weight; the tape needed one forward and one backward pass for all six. So we check small networks and train large ones."
    ));

    let (double, single) = error_by_step(spiral, seed, &tape)?;
    let lowest = |curve: &Curve| {
        curve
            .iter()
            .copied()
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("points")
    };
    let (best, best_single) = (lowest(&double), lowest(&single));
    let because = format!(
        "The formula's own error falls with h², but f(w+h) and f(w-h) agree in more and more digits, and their difference keeps only the others. In f64 the best step here is {:.0e}, in f32 it is {:.0e} and leaves {:.0e} at best: that is why gradients are checked in f64.",
        best.0, best_single.0, best_single.1
    );
    story.predict(Prediction {
        id: "smaller-step",
        question: "The definition of a derivative lets h go to 0. Which h gives the smallest error in f64?",
        options: &[
            Choice {
                text: "the smallest, 1e-12",
                answer_to_wrong: Some("That is where rounding has eaten almost all digits of the difference."),
            },
            Choice {
                text: "one in between, near 1e-5 or 1e-4",
                answer_to_wrong: None,
            },
            Choice {
                text: "it makes no difference below 1e-3",
                answer_to_wrong: Some("It makes a difference of several powers of ten, in both directions."),
            },
        ],
        answer: 1,
        because: &because,
    });
    let chart = Chart::lines("step-size", "How small should the step of a finite difference be?")
        .x_label("step h")
        .y_label("error, share of the gradient's norm")
        .note("first layer's weight, residual network; compared with the tape's gradient in f64")
        .log_x()
        .log_y()
        .series("f64", double)
        .series("f32", single);
    story.chart(&chart)?;
    Ok(())
}

/// The distance between numeric and exact gradient, by step, computing the loss in `f64` and in `f32`.
fn error_by_step(spiral: &Spiral, seed: u64, exact: &ArrayD<f64>) -> Result<(Curve, Curve)> {
    let steps = (-24..=0).map(|half_decades| 10_f64.powf(f64::from(half_decades) / 2.0));
    let (mut double, mut single) = (Curve::new(), Curve::new());
    for step in steps {
        let numeric = numeric_first_gradient(Wiring::Residual, spiral, seed, step);
        double.push((step, relative_error(&numeric, exact)));
        if step > 1e-7 {
            single.push((step, relative_error(&numeric_in_single(spiral, seed, step), exact)));
        }
    }
    Ok((double, single))
}

/// The same finite difference with a loss that was computed in `f32`.
fn numeric_in_single(spiral: &Spiral, seed: u64, step: f64) -> ArrayD<f64> {
    let network = Network::<f32>::new(Wiring::Residual, HIDDEN_SIZE, seed);
    let points = spiral.inputs::<f32>();
    let start = network.first_weight().value().mapv(f64::from);
    let loss_at = |weight: &ArrayD<f64>| {
        network
            .first_weight()
            .update(|w| w.zip_mut_with(weight, |w, &x| *w = x as f32));
        let loss = || -> Result<Tensor<f32>> { network.forward(&points)?.cross_entropy(&spiral.arms) };
        f64::from(
            no_grad(loss)
                .and_then(|loss| loss.item())
                .expect("the shapes of this network fit"),
        )
    };
    autograd::exercises::numeric_gradient(loss_at, &start, step)
}
