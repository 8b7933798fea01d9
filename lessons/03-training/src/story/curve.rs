//! The run behind the default model: its recorded curve, and where it stops.

use super::slots::slot_surprise;
use anyhow::Result;
use lab::chart::Chart;
use lab::story::Story;
use training::baselines::BASELINES;
use training::checkpoint::CurvePoint;
use training::eval::Subject;
use training::grammar::Grammar;
use training::record::BaselinePoint;

/// The recorded curve, the bound, and what is copied.
pub fn curve(story: &mut Story, subject: &Subject) -> Result<()> {
    story.step(
        "The run behind the default model",
        "The same program, 4.9 M parameters, for an hour instead of seconds; its curve was recorded.",
    );
    story.predict("floor");
    let record = &subject.record;
    for run in &record.runs {
        story.show_as("command", &run.command, &run.command);
        story.show_as(
            "machine",
            &run.machine,
            format!("{}, {:.0} minutes", run.machine, run.seconds / 60.0),
        );
    }
    let points = |f: fn(&CurvePoint) -> f64| -> Vec<(f64, f64)> {
        record.curve.iter().map(|p| (p.tokens as f64, f(p))).collect()
    };
    let mut stories = Chart::lines("stories", "Held-out stories: the loss stops at the grammar's entropy")
        .x_label("tokens seen")
        .y_label("nats per token")
        .log_x()
        .series("model", points(|p| p.stories));
    let mut literature = Chart::lines(
        "literature",
        "Held-out chapters: no bound is known, and the loss is still falling",
    )
    .x_label("tokens seen")
    .y_label("nats per token")
    .log_x()
    .series("model", points(|p| p.literature));
    for (order, name) in BASELINES.iter().enumerate() {
        let line = |f: fn(&BaselinePoint) -> &Vec<f64>| -> Vec<(f64, f64)> {
            record
                .baselines
                .iter()
                .map(|p| (p.tokens as f64, f(p)[order]))
                .collect()
        };
        stories = stories.dashed(name, line(|p| &p.stories));
        literature = literature.dashed(name, line(|p| &p.literature));
    }
    stories = stories.rule("entropy bound", record.entropy_bound);
    story.chart(&stories)?;
    story.chart(&literature)?;
    let step = (record.curve.len() / 8).max(1);
    let mut points: Vec<&CurvePoint> = record.curve.iter().rev().step_by(step).collect();
    points.reverse();
    story.rows(
        &["tokens", "train", "stories", "literature"],
        points.into_iter().map(|p| {
            let [train, stories, literature] = [p.train, p.stories, p.literature].map(|nats| format!("{nats:.3}"));
            [p.tokens.to_string(), train, stories, literature]
        }),
    );
    story.show_as(
        "entropy bound of stories",
        record.entropy_bound,
        format!("{:.3} nats per token", record.entropy_bound),
    );
    story.say(
        "After the plateau the loss falls again because the model begins to copy. Surprise at the words of a story, where they first \
         stand and where they are said again:",
    );
    let slots = slot_surprise(subject, &Grammar::new(), 40);
    story.rows(
        &["word for", "first", "again", "repeats"],
        slots.iter().map(|(slot, surprise)| {
            let (first, again) = (format!("{:.2}", surprise.first), format!("{:.2}", surprise.again));
            [(*slot).to_owned(), first, again, surprise.num_again.to_string()]
        }),
    );
    let copied = |slot: &&str| slots[*slot].again < 1.0;
    let (kept, lost): (Vec<&str>, Vec<&str>) = slots.keys().copied().partition(copied);
    story.show("copied", kept.join(", "));
    story.show("not yet", lost.join(", "));
    story.say("The words that are repeated most often are copied first. Fluent is not yet faithful.");
    Ok(())
}
