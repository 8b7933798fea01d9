//! Steps: a plain network hides every wrong walk and a residual shows it; and the loss falls with wrong gradients too.

use autograd::fit::Variant;
use autograd::network::Wiring;
use autograd::wrong::Walk;
use lab::chart::Chart;
use lab::story::{Claim, Story, Verdict};

use super::{Runs, STEPS, picture};

/// T4 and T5: how wrong each walk is on each network.
pub fn errors(story: &mut Story, runs: &Runs) -> anyhow::Result<()> {
    story.step(
        "Where a wrong walk hides",
        "Two hidden layers, every walk, checked against finite differences. Then one more addition: the first layer's output is added to the second's.",
    );
    story.predict("plain");
    let mut chart = Chart::bars("gradient-error", "Only the residual network shows the wrong walks")
        .y_label("distance from finite differences, share of the gradient's norm")
        .note("first layer's gradient in f64, at the initial weights; the lowest points are the finite differences' own error")
        .log_y();
    let mut rows = Vec::new();
    for variant in Variant::ALL {
        let name = variant.name();
        let errors = [Wiring::Plain, Wiring::Residual].map(|wiring| runs.get(wiring, variant).error);
        let [plain, residual] = errors.map(|error| format!("{error:.1e}"));
        rows.push([name.to_string(), plain, residual]);
        chart = chart.group(name, &[("plain", errors[0]), ("residual", errors[1])]);
        story.values(name, errors);
    }
    story.rows(&["backward pass", "plain", "residual"], rows);
    story.say(
        "\"Changed in place\" is no walk and has its own step below. It makes the gradients of both networks wrong.",
    );
    story.chart(&chart)?;

    let error = |walk| runs.residual(walk).error;
    story.claim(Claim {
        id: "T4",
        claimed: "Gradients must be accumulated, not overwritten, when a value is used twice",
        value: error(Walk::Overwrite),
        unit: "of the gradient's norm, error of overwriting",
        verdict: Verdict::of(error(Walk::Overwrite) > 0.1 && error(Walk::Correct) < 1e-6, false),
        note: "b = a + a; c = b + b: 1 instead of 4. Where no value is used twice, overwriting gives the right bits.",
    });
    // Both recursions are claimed to be wrong. The claim holds if both are, and partly if one is.
    let wrong = [Walk::Resend, Walk::PerPath].map(|walk| error(walk) > 0.1);
    story.claim(Claim {
        id: "T5",
        claimed: "The backward pass must run in reverse topological order; plain recursion is wrong when a node is reused",
        value: error(Walk::Resend),
        unit: "of the gradient's norm, error of the recursion that re-sends its sum",
        verdict: Verdict::of(wrong == [true, true], wrong[0] || wrong[1]),
        note: "There are two plain recursions. The one that sends its sum again is wrong as soon as a node that is no leaf is reused (6 instead of 4). The one that sends each share along its path is right, and makes 131 071 visits for 17 nodes.",
    });
    Ok(())
}

/// Training with every backward pass.
pub fn losses(story: &mut Story, runs: &Runs) -> anyhow::Result<()> {
    story.step(
        "Wrong gradients still train",
        "The same residual network, trained by each backward pass. Any direction that goes downhill lowers the loss.",
    );
    let mut rows = Vec::new();
    let mut chart = Chart::lines("loss", "The loss falls with wrong gradients too")
        .x_label("step")
        .y_label("loss, nats per point")
        .note("residual network, 200 points, AdamW; equal data, start and constants")
        .log_y();
    for variant in Variant::ALL {
        let run = runs.get(Wiring::Residual, variant);
        let losses = [50, 100, STEPS].map(|step| run.fit.losses[step]);
        let [early, middle, last] = losses.map(|loss| format!("{loss:.4}"));
        let accuracy = format!("{:.0} %", 100.0 * run.fit.accuracy);
        let error = format!("{:.1e}", run.error);
        rows.push([variant.name().into(), error, early, middle, last, accuracy]);
        story.values(variant.name(), losses);
        // A chart shows no more than every tenth step. The path walk's curve would lie exactly on the right one's.
        if variant != Variant::Walk(Walk::PerPath) {
            let points = run.fit.losses.iter().enumerate().step_by(10);
            chart = chart.dashed(
                variant.name(),
                points.map(|(step, &loss)| (step as f64, loss)).collect(),
            );
        }
    }
    let header = [
        "backward pass",
        "gradient error",
        "loss at 50",
        "at 100",
        "at 400",
        "right",
    ];
    story.rows(&header, rows);
    story.say(
        "All of them separate the arms. Overwriting does not show in the loss, re-sending looks like a slightly worse seed, and changing weights in place looks like a learning rate that needs tuning. A falling loss does not prove a gradient.",
    );
    story.chart(&chart)?;
    for (walk, id, gradients) in [
        (Walk::Correct, "regions-correct", "right"),
        (Walk::Overwrite, "regions-overwrite", "overwritten"),
    ] {
        let title = format!("{STEPS} steps with {gradients} gradients separate the arms");
        let network = &runs.residual(walk).fit.network;
        story.chart(&picture::chart(id, &title, network, &runs.spiral)?)?;
    }
    Ok(())
}
