//! The run behind the default model: its recorded curve, and where it stops.

use anyhow::Result;
use lab::chart::Chart;
use lab::story::{Choice, Prediction, Story};
use lab::table::Table;
use training::checkpoint::CurvePoint;
use training::eval::{BASELINES, Subject, slot_surprise};
use training::grammar::Grammar;
use training::train::BaselinePoint;

/// The recorded curve, the bound, and what is copied.
pub fn curve(story: &mut Story, subject: &Subject) -> Result<()> {
    story.step(
        "The run behind the default model",
        "The same program, 4.9 M parameters, for an hour instead of seconds; its curve was recorded.",
    );
    story.predict(Prediction {
        id: "floor",
        question: "The stories come from a grammar that chooses at random. Trained for ever, the loss on new stories goes to",
        options: &[
            Choice {
                text: "0",
                answer_to_wrong: Some("Nobody can know which name the grammar will choose next; only that it keeps to it afterwards."),
            },
            Choice { text: "the entropy of the grammar's choices", answer_to_wrong: None },
            Choice {
                text: "ln 2048",
                answer_to_wrong: Some("That is where it began: nothing known."),
            },
        ],
        answer: 1,
        because: "The loss stops at the text's own entropy, which for this text can be computed from its choices.",
    });
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
    let mut literature = Chart::lines("literature", "Held-out chapters of Austen and Melville")
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
    let mut table = Table::new(&["tokens", "train", "stories", "literature"]);
    let step = (record.curve.len() / 8).max(1);
    for p in record
        .curve
        .iter()
        .rev()
        .step_by(step)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
    {
        table.row([
            p.tokens.to_string(),
            format!("{:.3}", p.train),
            format!("{:.3}", p.stories),
            format!("{:.3}", p.literature),
        ]);
    }
    story.table(&table);
    story.show_as(
        "entropy bound of stories",
        record.entropy_bound,
        format!("{:.3} nats per token", record.entropy_bound),
    );
    story.say(
        "What the fall after the plateau is: the model begins to copy. Surprise at the words of a story, where they \
               first stand and where they are said again:",
    );
    let slots = slot_surprise(subject, &Grammar::new(), 40);
    let mut table = Table::new(&["word for", "first", "again", "repeats"]);
    for (slot, surprise) in &slots {
        let (first, again) = (format!("{:.2}", surprise.first), format!("{:.2}", surprise.again));
        table.row([(*slot).to_owned(), first, again, surprise.num_again.to_string()]);
    }
    story.table(&table);
    let copied = |slot: &&str| slots[*slot].again < 1.0;
    let (kept, lost): (Vec<&str>, Vec<&str>) = slots.keys().copied().partition(copied);
    story.show("copied", kept.join(", "));
    story.show("not yet", lost.join(", "));
    story.say("What is said again most often is copied first. Fluent is not yet faithful.");
    Ok(())
}
