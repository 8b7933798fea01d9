//! Step: a saved value that changes before the backward pass reads it.

use autograd::Tensor;
use autograd::fit::{HIDDEN_SIZE, OPTIMIZER, Variant};
use autograd::network::{Network, Wiring};
use autograd::optim::AdamW;
use autograd::wrong::unchecked_mul;
use lab::story::{Claim, Story, Verdict};
use ndarray::{IxDyn, arr0};

use super::Runs;

/// T6: without a check the gradient is wrong, with one there is an error.
pub fn versions(story: &mut Story, runs: &Runs) -> anyhow::Result<()> {
    story.step(
        "Changed in place",
        "The rule of x·x reads x again when the gradient comes back. What happens if x has changed by then?",
    );
    story.predict("in-place");
    let x = Tensor::parameter(arr0(3.0_f64).into_dyn());
    let (silent, checked) = (unchecked_mul(&x, &x)?, x.mul(&x)?);
    x.update(|x| *x += 1.0);
    silent.backward()?;
    let gradient = x.take_grad().map_or(0.0, |gradient| gradient[IxDyn(&[])]);
    story.show("without the check", gradient);
    let error = error_of(checked.backward());
    story.show("with it", error.as_str());

    // The same slip in a training loop: step() stands one line too early.
    let network = Network::<f32>::new(Wiring::Residual, HIDDEN_SIZE, runs.seed);
    let points = runs.spiral.inputs::<f32>();
    let mut optimizer = AdamW::new(network.parameters(), OPTIMIZER);
    let forward = || network.forward(&points)?.cross_entropy(&runs.spiral.arms);
    forward()?.backward()?;
    let loss = forward()?;
    optimizer.step();
    optimizer.zero_grad();
    let in_training = error_of(loss.backward());
    story.say("In a training loop the slip is one line in the wrong place: forward, optimizer.step(), backward. The tape then says:");
    story.show("forward, step, backward", in_training.as_str());
    let silent_error = runs.get(Wiring::Residual, Variant::StepBeforeBackward).error;
    let shown = format!("gradient wrong by {:.0} %, and it trains", 100.0 * silent_error);
    story.show_as("the same without a check", silent_error, shown);
    let is_silent = gradient == 8.0 && silent_error > 1e-3;
    let is_detected = error.contains("`mul`") && in_training.contains("`matmul`");
    story.claim(Claim {
        id: "T6",
        claimed: "In-place mutation of a value that the graph saved makes its gradient wrong, and can be detected",
        value: silent_error,
        unit: "of the gradient's norm, error when unnoticed",
        verdict: Verdict::of(is_silent && is_detected, false),
        note: "One counter for each value and one comparison for each saved value detect it. A change that no rule reads is allowed.",
    });
    Ok(())
}

fn error_of(result: autograd::Result<()>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}
