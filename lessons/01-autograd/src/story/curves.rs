//! Step: the loss falls with a wrong gradient too.

use autograd::fit::Variant;
use autograd::network::Wiring;
use autograd::wrong::Walk;
use lab::chart::Chart;
use lab::story::Story;
use lab::table::Table;

use super::opening::{Runs, STEPS};
use super::picture;

pub fn tell(story: &mut Story, runs: &Runs) -> anyhow::Result<()> {
    story.step(
        "Wrong gradients still train",
        "The same residual network, trained by each backward pass. Any direction that goes downhill lowers the loss.",
    );
    let mut table = Table::new(&[
        "backward pass",
        "gradient error",
        "loss at 50",
        "at 100",
        "at 400",
        "points right",
    ]);
    let mut chart = Chart::lines("loss", "Training on the spiral: right and wrong gradients")
        .x_label("step")
        .y_label("loss, nats per point")
        .note("residual network, 200 points, AdamW; equal data, start and constants")
        .log_y();
    for variant in Variant::ALL {
        let run = runs.get(Wiring::Residual, variant);
        let losses = &run.fit.losses;
        table.row([
            variant.name().to_string(),
            format!("{:.1e}", run.error),
            format!("{:.4}", losses[50]),
            format!("{:.4}", losses[100]),
            format!("{:.4}", losses[STEPS]),
            format!("{:.0} %", 100.0 * run.fit.accuracy),
        ]);
        story.values(variant.name(), [losses[50], losses[100], losses[STEPS]]);
        // Every tenth step is as much as a chart shows. The path walk's curve would lie exactly on the right one's.
        if variant != Variant::Walk(Walk::PerPath) {
            let points = losses
                .iter()
                .enumerate()
                .step_by(10)
                .map(|(step, &loss)| (step as f64, loss));
            chart = chart.dashed(variant.name(), points.collect());
        }
    }
    story.table(&table);
    story.say(
        "All of them part the arms. Overwriting can not be seen in the loss at all, re-sending looks like a slightly worse seed, and changing weights in place like a learning rate that needs tuning. A falling loss does not prove a gradient.",
    );
    story.chart(&chart)?;
    for (walk, id) in [
        (Walk::Correct, "regions-correct"),
        (Walk::Overwrite, "regions-overwrite"),
    ] {
        let title = format!("Decision regions after {STEPS} steps: {}", walk.name());
        let network = &runs.get(Wiring::Residual, Variant::Walk(walk)).fit.network;
        story.chart(&picture::chart(id, &title, network, &runs.spiral)?)?;
    }
    Ok(())
}
