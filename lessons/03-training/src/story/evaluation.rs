//! What is measured, and that it was fixed before anything was made faster.

use crate::command::eval::summary;
use anyhow::Result;
use lab::story::{Claim, Story, Verdict};
use std::path::Path;
use training::corpus::Evaluation;
use training::eval::{EvalReport, Subject, fingerprint};

/// The recorded report, some of it repeated now.
pub fn evaluation(story: &mut Story, subject: &Subject, set: &Evaluation, folder: &Path) -> Result<()> {
    story.step(
        "Measured before anything is made faster",
        "Text, questions and metrics are fixed here, before the first line of inference code, so that no later lesson can choose its own judge.",
    );
    let recorded = std::fs::read_to_string(folder.join("evaluation.json")).ok();
    let recorded: Option<EvalReport> = recorded.and_then(|text| serde_json::from_str(&text).ok());
    if let Some(report) = &recorded {
        story.say("The whole evaluation, as recorded (`cargo run -q -p lesson03 -- eval` repeats it in some minutes):");
        story.print(summary(report));
        story.values("evaluation", report);
    }
    let tasks = subject.answer(&set.tasks);
    story.show_as(
        "questions right, now",
        tasks.accuracy,
        format!("{:.0} % of {}", 100.0 * tasks.accuracy, set.tasks.len()),
    );
    // The same answers, each given to the next question: what happens when a batch comes back in another order.
    let mut turned = set.tasks.clone();
    let answers: Vec<String> = turned.iter().map(|item| item.answer.clone()).collect();
    for (item, answer) in turned.iter_mut().zip(answers.iter().cycle().skip(1)) {
        item.answer.clone_from(answer);
    }
    let in_turn = set
        .tasks
        .iter()
        .zip(&turned)
        .filter(|(a, b)| a.answer == b.answer)
        .count();
    let by_chance = in_turn as f64 / set.tasks.len() as f64;
    story.show_as(
        "the same answers, one place further",
        by_chance,
        format!("{:.0} % would be right", 100.0 * by_chance),
    );
    story.say("Training shuffled its samples. An answer that leaves the place of its question is a wrong answer.");
    let fingerprint = fingerprint(set);
    story.show_as(
        "fingerprint of this set",
        &fingerprint,
        format!("{}…", &fingerprint[..16]),
    );
    let manifest = include_str!("../../Cargo.toml");
    let inference = ["lesson04", "lesson05", "lesson06"]
        .iter()
        .filter(|name| manifest.contains(**name))
        .count();
    story.claim(Claim {
        id: "D2",
        claimed: "the evaluation set and its metrics are fixed before the first line of inference code",
        value: inference as f64,
        unit: "inference crates that this evaluation depends on",
        verdict: Verdict::of(inference == 0, false),
        note: "the set is a function of one seed and its fingerprint is a test; metrics take a closure from tokens to logits",
    });
    Ok(())
}
