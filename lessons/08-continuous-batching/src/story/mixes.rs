//! The gain by the clock: lesson 07's batches and the engine race on four kinds of traffic.

use super::gain::{harmonic, steps_of};
use super::load::{Mix, in_batches, longest, new_tokens, plan, run, submit};
use super::{SLOTS, Scene};
use anyhow::Context;
use lab::chart::Chart;
use lab::race::{Race, RaceResult};
use lab::story::{Claim, Story, Verdict};
use static_batching::BatchState;
use training::TokenId;

/// C1 and C3: tokens a second, static against continuous, on each mix. Returns requests a second of the static batches
/// on the mix of three kinds.
pub fn raced(story: &mut Story, scene: &Scene, mixes: &[Mix]) -> anyhow::Result<f64> {
    story.step(
        "Race on four kinds of traffic",
        "The same requests, all there at the start, through lesson 07's batches and through the engine. Answers must be equal, token for token.",
    );
    let mut races: Vec<(&Mix, RaceResult)> = Vec::new();
    for mix in mixes {
        let mut state = BatchState::new(&scene.model.config);
        let mut engine = scene.engine(SLOTS, longest(&mix.jobs));
        let title = format!("{}: {} requests", mix.name, mix.jobs.len());
        let race = Race::new(&format!("throughput-{}", mix.id), &title)
            .unit("tokens/s")
            .work(new_tokens(&mix.jobs) as f64)
            .rounds(if scene.model.is_large() { 1 } else { 3 })
            .entry("static batches", None, || {
                anyhow::Ok(in_batches(scene, &mut state, &mix.jobs, SLOTS)?.0)
            })
            .entry("continuous", None, || {
                submit(&mut engine, &mix.jobs)?;
                let answers = run(&mut engine)?.into_values().map(|(tokens, _)| tokens);
                Ok(answers.collect::<Vec<Vec<TokenId>>>())
            })
            .baseline("static batches")
            .check(|a, b| match (a, b) {
                (Ok(a), Ok(b)) if a == b => Ok(()),
                (Ok(_), Ok(_)) => Err("an answer differs".into()),
                (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
            });
        races.push((mix, story.race(race)?));
    }
    let gain = |race: &RaceResult| race.ratio("continuous", "static batches");
    let rows = races.iter().map(|(mix, race)| {
        let batches = plan(mix.jobs.iter().map(|job| job.new_tokens), SLOTS).steps();
        let (_, steps) = steps_of(&mix.lengths, mix.jobs.len(), scene.seed, SLOTS);
        let mean = new_tokens(&mix.jobs) as f64 / mix.jobs.len() as f64;
        let most = mix.jobs.iter().map(|job| job.new_tokens).max().unwrap_or(0);
        [
            mix.name.to_owned(),
            format!("{mean:.1}"),
            most.to_string(),
            format!("{:.2}", batches as f64 / steps as f64),
            format!("{:.2}", gain(race)),
        ]
    });
    story.rows(&["lengths", "mean", "longest", "fewer steps", "faster"], rows);
    let gains: Vec<(&str, f64)> = races.iter().map(|(mix, race)| (mix.id, gain(race))).collect();
    story.values("gains", &gains);
    claims(story, &gains)?;
    let chart = Chart::bars("mixes", "Joining and leaving at every step")
        .y_label("tokens a second")
        .note(&format!("batch {SLOTS}, model {}", scene.model.name));
    let chart = races.iter().fold(chart, |chart, (mix, race)| {
        let parts = [
            ("static batches (07)", race.median("static batches")),
            ("continuous (08)", race.median("continuous")),
        ];
        chart.group(mix.name, &parts)
    });
    story.chart(&chart.baseline("static batches (07)"))?;
    let (mix, race) = races
        .iter()
        .find(|(mix, _)| mix.id == "mix")
        .context("the mix of three kinds")?;
    let tokens_per_request = new_tokens(&mix.jobs) as f64 / mix.jobs.len() as f64;
    Ok(race.median("static batches") / tokens_per_request)
}

fn claims(story: &mut Story, gains: &[(&str, f64)]) -> anyhow::Result<()> {
    let [equal, mix, exponential, conversation] = ["equal", "mix", "exponential", "conversation"].map(|wanted| {
        gains
            .iter()
            .find(|(id, _)| *id == wanted)
            .map_or(f64::NAN, |(_, gain)| *gain)
    });
    let note = format!(
        "On the mix of three kinds at batch {SLOTS}; exponential lengths {exponential:.1} times, conversation {conversation:.1}. Fewer steps are counted \
         above; time gains less where a joining prompt makes a step longer. A larger batch gains more: by count {:.1} times at 32.",
        harmonic(32)
    );
    story.claim(Claim {
        id: "C1",
        claimed: "Continuous batching gives 2.3 times (up to 3 to 5 times) the throughput of static batching on mixed lengths",
        value: mix,
        unit: "times the tokens a second",
        // A gain of up to a tenth less than the claimed 2.3 still counts as that finding.
        verdict: Verdict::of((0.9 * 2.3..=5.0).contains(&mix), mix >= 1.2),
        note: &note,
    });
    let least = mix.min(exponential).min(conversation);
    // A clear loss on equal answers does not count as a small gain either.
    let (is_large, is_small) = (least >= 1.5, (0.87..=1.15).contains(&equal));
    let note = format!(
        "Equal short answers: {equal:.2} times. Mixed ones: {least:.1} to {:.1} times. The gain is the mean longest of a batch over the mean, and that \
         is 1 where all are equal.",
        mix.max(exponential).max(conversation)
    );
    story.claim(Claim {
        id: "C3",
        claimed: "Its gain is large for long or mixed outputs and small for short equal ones",
        value: equal,
        unit: "times, equal short answers",
        verdict: Verdict::of(is_large && is_small, is_large || is_small),
        note: &note,
    });
    Ok(())
}
