//! The opening: two trained networks, one of them trained with a wrong backward pass.

use autograd::wrong::Walk;
use lab::story::Story;

use super::{Run, Runs, STEPS, picture};

/// Shows the two networks and asks which one had the wrong gradient.
pub fn two_networks(story: &mut Story, runs: &Runs) -> anyhow::Result<()> {
    let (wrong, right) = (runs.residual(Walk::Overwrite), runs.residual(Walk::Correct));
    let networks = [&wrong.fit.network, &right.fit.network];
    picture::side_by_side(story, ["Network A", "Network B"], networks, &runs.spiral)?;
    let last = |run: &Run| run.fit.losses[STEPS];
    let result = |run: &Run| format!("loss {:.5}, {:.0} % right", last(run), 100.0 * run.fit.accuracy);
    story.print(format!("   {:<34}   {}\n", result(wrong), result(right)));
    story.values("loss_a", last(wrong));
    story.values("loss_b", last(right));
    story.values("first_layer_gradient_error_a", wrong.error);
    story.values("first_layer_gradient_error_b", right.error);
    story.predict_with(
        "which-is-wrong",
        &[
            ("steps", &STEPS),
            ("share", &format!("{:.0}", 100.0 * wrong.error)),
            ("first_loss", &format!("{:.3}", wrong.fit.losses[0])),
            ("loss_a", &format!("{:.5}", last(wrong))),
            ("loss_b", &format!("{:.5}", last(right))),
        ],
    );
    Ok(())
}
