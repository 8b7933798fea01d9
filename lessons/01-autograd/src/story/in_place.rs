//! Step: a saved value that changes before it is read.

use autograd::Tensor;
use autograd::fit::{HIDDEN_SIZE, OPTIMIZER, Variant};
use autograd::network::{Network, Wiring};
use autograd::optim::AdamW;
use autograd::wrong::unchecked_mul;
use lab::story::{Choice, Claim, Prediction, Story};
use ndarray::{IxDyn, arr0};

use super::opening::Runs;
use super::wirings::holds;

pub fn tell(story: &mut Story, runs: &Runs) -> anyhow::Result<()> {
    story.step(
        "Changed in place",
        "The tape of x·x needs x again when the gradient comes back. What if x is something else by then?",
    );
    story.predict(Prediction {
        id: "in-place",
        question: "x = 3; y = x·x; then x is set to 4 in place; then y.backward(). What is x's gradient?",
        options: &[
            Choice { text: "6: y was computed at 3", answer_to_wrong: Some("That is the right gradient, but no 3 is left to compute it from, unless somebody had copied it.") },
            Choice { text: "8, without a word", answer_to_wrong: Some("That is what a tape without a check gives, and what the version counter is for.") },
            Choice { text: "an error that names the operation", answer_to_wrong: None },
        ],
        answer: 2,
        because: "Each value counts its changes. The tape saved version 0 and finds version 1: better no gradient than a wrong one. A copy would have saved the 3, for the memory of a copy of everything.",
    });
    let x = Tensor::parameter(arr0(3.0_f64).into_dyn());
    let (silent, checked) = (unchecked_mul(&x, &x)?, x.mul(&x)?);
    x.update(|x| *x += 1.0);
    silent.backward()?;
    let gradient = x.take_grad().map_or(0.0, |gradient| gradient[IxDyn(&[])]);
    story.show("without the check", gradient);
    let error = checked
        .backward()
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    story.show("with it", error.as_str());

    // The same slip in a training loop: step() stands one line too early.
    let network = Network::<f32>::new(Wiring::Residual, HIDDEN_SIZE, runs.seed);
    let points = runs.spiral.inputs::<f32>();
    let mut optimizer = AdamW::new(network.parameters(), OPTIMIZER);
    network.forward(&points)?.cross_entropy(&runs.spiral.arms)?.backward()?;
    let loss = network.forward(&points)?.cross_entropy(&runs.spiral.arms)?;
    optimizer.step();
    optimizer.zero_grad();
    let in_training = loss.backward().err().map(|error| error.to_string()).unwrap_or_default();
    story.say("In a training loop the slip is one line in the wrong place: forward, optimizer.step(), backward. Here it says:");
    story.show("forward, step, backward", in_training.as_str());
    let silent_error = runs.get(Wiring::Residual, Variant::StepBeforeBackward).error;
    story.show_as(
        "the same without a check",
        silent_error,
        format_args!("gradient wrong by {:.0} %, and it trains", 100.0 * silent_error),
    );
    story.claim(Claim {
        id: "T6",
        claimed: "In-place mutation of a value that the graph saved makes its gradient wrong, and can be detected",
        value: silent_error,
        unit: "of the gradient's norm, error when unnoticed",
        verdict: holds(
            gradient == 8.0 && silent_error > 1e-3 && error.contains("`mul`") && in_training.contains("`matmul`"),
        ),
        note: "One counter per value and one comparison per saved value find it. A change that no rule reads stays allowed.",
    });
    Ok(())
}
