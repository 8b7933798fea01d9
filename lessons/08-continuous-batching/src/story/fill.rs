//! The fill of the batch over time.

use super::load::{Mix, longest, plan, submit};
use super::{SLOTS, Scene, timeline, trace};
use anyhow::Context;
use continuous_batching::Delivery;
use lab::chart::Chart;
use lab::story::Story;

/// The fill of the batch over time, static and continuous.
pub fn fill(story: &mut Story, scene: &Scene, mixes: &[Mix]) -> anyhow::Result<()> {
    story.step(
        "Watch the batch",
        "Requests that move in each step, on the mix of three kinds: the area below both lines is the same, all tokens of all answers.",
    );
    let mix = mixes
        .iter()
        .find(|mix| mix.id == "mix")
        .context("the mix of three kinds")?;
    let mut engine = scene.engine(SLOTS, longest(&mix.jobs));
    submit(&mut engine, &mix.jobs)?;
    let mut steps = Vec::new();
    while !engine.is_idle() {
        steps.extend(trace::step(&mut engine, &mut |_| Delivery::Taken)?);
    }
    let plan = plan(mix.jobs.iter().map(|job| job.new_tokens), SLOTS);
    let schedules = [
        (
            "static batches (07)",
            timeline::running(&timeline::of_plan(&plan, SLOTS)),
        ),
        ("continuous (08)", timeline::running(&timeline::of_trace(&steps, SLOTS))),
    ];
    let mut chart = Chart::lines("fill", "The engine stays full while requests wait")
        .x_label("step")
        .y_label("requests that move")
        .note(&format!("{} requests, 6 : 3 : 1, batch {SLOTS}", mix.jobs.len()))
        .y_range(0.0, SLOTS as f64 + 0.5);
    for (name, running) in &schedules {
        let mean = running.iter().sum::<usize>() as f64 / running.len().max(1) as f64;
        let percent = 100.0 * mean / SLOTS as f64;
        let text = format!(
            "{} steps, {mean:.1} of {SLOTS} move in a step, {percent:.0} %",
            running.len()
        );
        story.show_as(name, mean, text);
        chart = chart.series(name, stairs(running));
    }
    let running: Vec<_> = schedules.iter().map(|(_, running)| running).collect();
    story.values("running", running);
    story.chart(&chart)?;
    Ok(())
}

/// A number for each step as a line with corners.
fn stairs(running: &[usize]) -> Vec<(f64, f64)> {
    let steps = running.iter().enumerate();
    let corners = steps.flat_map(|(step, running)| [step, step + 1].map(|x| (x as f64, *running as f64)));
    corners.chain([(running.len() as f64, 0.0)]).collect()
}
