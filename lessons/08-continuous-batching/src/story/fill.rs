//! The fill of the batch over time, and how much of its memory is used.

use super::load::{Mix, longest, static_steps};
use super::{SLOTS, Scene, timeline};
use anyhow::Context;
use continuous_batching::Delivery;
use continuous_batching::trace::{Recorder, StepTrace};
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
    for job in &mix.jobs {
        engine.submit(&job.prompt, job.new_tokens)?;
    }
    let mut recorder = Recorder::default();
    while !engine.is_idle() {
        recorder.step(&mut engine, &mut |_| Delivery::Taken)?;
    }
    let lengths = mix.jobs.iter().map(|job| (job.prompt.len(), job.new_tokens));
    let plan = static_steps(lengths, SLOTS);
    let schedules = [
        (
            "static batches (07)",
            timeline::running(&timeline::of_plan(&plan, SLOTS)),
        ),
        (
            "continuous (08)",
            timeline::running(&timeline::of_trace(&recorder.steps, SLOTS)),
        ),
    ];
    let mut chart = Chart::lines("fill", "Who moves in each step")
        .x_label("step")
        .y_label("requests that move")
        .note(&format!("{} requests, 6 : 3 : 1, batch {SLOTS}", mix.jobs.len()))
        .y_range(0.0, SLOTS as f64 + 0.5);
    for (name, running) in &schedules {
        let mean = running.iter().sum::<usize>() as f64 / running.len().max(1) as f64;
        story.show_as(
            name,
            mean,
            format!(
                "{} steps, {mean:.1} of {SLOTS} move in a step, {:.0} %",
                running.len(),
                100.0 * mean / SLOTS as f64
            ),
        );
        chart = chart.series(name, stairs(running));
    }
    story.values(
        "running",
        schedules.iter().map(|(_, running)| running).collect::<Vec<_>>(),
    );
    timeline::bars(story, &schedules);
    let context = scene.model.config.llama.max_seq_len;
    let share = share_of_slots(&recorder.steps, context);
    story.show_as(
        "room that is used",
        share,
        format!(
            "{:.1} % of {SLOTS} slots of {context} positions, the model's context",
            100.0 * share
        ),
    );
    story.chart(&chart)?;
    Ok(())
}

/// Mean share of all slots that holds something, if each has `capacity` positions.
fn share_of_slots(trace: &[StepTrace], capacity: usize) -> f64 {
    let seats = trace.iter().flat_map(|step| &step.computed);
    let held: usize = seats.map(|seat| seat.first_position + seat.rows).sum();
    held as f64 / (trace.len() * SLOTS * capacity).max(1) as f64
}

/// A number for each step as a line with corners.
fn stairs(running: &[usize]) -> Vec<(f64, f64)> {
    let steps = running.iter().enumerate();
    let mut points: Vec<(f64, f64)> = steps
        .flat_map(|(step, running)| [(step as f64, *running as f64), (step as f64 + 1.0, *running as f64)])
        .collect();
    points.push((running.len() as f64, 0.0));
    points
}
