//! Step: finite differences check a gradient without any derivative, and their step has a best size.

use autograd::Result;
use autograd::fit::{Variant, first_gradient};
use autograd::gradcheck::relative_error;
use autograd::network::Wiring;
use autograd::spiral::Spiral;
use autograd::wrong::Walk;
use lab::chart::Chart;
use lab::story::Story;
use ndarray::ArrayD;

use super::{Curve, Runs, STEP, numeric_first_gradient};

/// Checks one gradient, then every step size.
pub fn step_size(story: &mut Story, runs: &Runs) -> anyhow::Result<()> {
    story.step(
        "Ask the function itself",
        "A gradient says: when this weight moves by h, the loss moves by h times the gradient. So move the weight, and measure the loss.",
    );
    let (spiral, seed) = (&runs.spiral, runs.seed);
    let tape = first_gradient::<f64>(Variant::Walk(Walk::Correct), Wiring::Residual, spiral, seed)?;
    let numeric = numeric_first_gradient::<f64>(Wiring::Residual, spiral, seed, STEP);
    let size = format!("{:?}: {} numbers", tape.shape(), tape.len());
    story.show("first layer's weight", size);
    let first = format!("{:.9} for its first number", numeric[[0, 0]]);
    story.show("(f(w+h) - f(w-h)) / 2h", first);
    story.show("the tape says", format!("{:.9}", tape[[0, 0]]));
    let error = relative_error(&tape, &numeric);
    let shown = format!("{error:.1e} of the gradient's norm");
    story.show_as("whole weight, difference", error, shown);
    story.say(format!(
        "The check of one weight took {} forward passes; the tape needs one forward and one backward pass for all six parameters. So small networks are checked this way, and large ones are trained with the tape.",
        2 * tape.len()
    ));

    let (double, single) = error_by_step(spiral, seed, &tape)?;
    let lowest = |curve: &Curve| {
        curve
            .iter()
            .copied()
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("points")
    };
    let [best, best_single] = [&double, &single].map(|curve| {
        let (step, error) = lowest(curve);
        [step, error].map(|value| format!("{value:.0e}"))
    });
    story.values("best step, f64", &best);
    story.values("best step, f32", &best_single);
    let [best_single, error_single] = &best_single;
    story.predict_with(
        "smaller-step",
        &[
            ("best", &best[0]),
            ("best_single", best_single),
            ("error_single", error_single),
        ],
    );
    let chart = Chart::lines(
        "step-size",
        "A finite difference has a best step: smaller is not better",
    )
    .x_label("step h")
    .y_label("error, share of the gradient's norm")
    .note("first layer's weight, residual network; compared with the tape's gradient in f64")
    .log_x()
    .log_y();
    story.chart(&chart.series("f64", double).series("f32", single))?;
    Ok(())
}

/// The distance between numeric and exact gradient by step, for losses computed in `f64` and in `f32`.
fn error_by_step(spiral: &Spiral, seed: u64, exact: &ArrayD<f64>) -> Result<(Curve, Curve)> {
    let (mut double, mut single) = (Curve::new(), Curve::new());
    for half_decades in -24..=0 {
        let step = 10_f64.powf(f64::from(half_decades) / 2.0);
        let numeric = numeric_first_gradient::<f64>(Wiring::Residual, spiral, seed, step);
        double.push((step, relative_error(&numeric, exact)));
        if step > 1e-7 {
            let numeric = numeric_first_gradient::<f32>(Wiring::Residual, spiral, seed, step);
            single.push((step, relative_error(&numeric, exact)));
        }
    }
    Ok((double, single))
}
