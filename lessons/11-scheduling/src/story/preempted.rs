//! What it costs to take a request's memory: rows or copies.

use super::{BLOCK_SIZE, Means, Scene};
use continuous_batching::{Delivery, Event};
use lab::ledger;
use lab::race::Race;
use lab::story::Story;
use scheduling::Preemption;
use scheduling::stats::ScheduleStats;
use std::collections::BTreeMap;
use training::TokenId;

/// Requests, their prompts and answers.
const REQUESTS: (usize, usize, usize) = (8, 24, 60);
/// Contenders: the number of requests that memory holds at their longest, and the way to preempt.
const WAYS: [(&str, usize, Preemption); 3] = [
    ("enough memory", 8, Preemption::Recompute),
    ("recompute", 4, Preemption::Recompute),
    ("swap", 4, Preemption::Swap),
];

/// Serves all requests; returns the answers, what the scheduler counted, and the tokens that were copied.
fn serve(scene: &Scene, fit: usize, preemption: Preemption) -> anyhow::Result<(Vec<Vec<TokenId>>, ScheduleStats, u64)> {
    let (count, prompt, new) = REQUESTS;
    let mut engine = scene.engine(&Means {
        max_running: count,
        chunk: 64,
        num_blocks: fit * (prompt + new).div_ceil(BLOCK_SIZE),
        preemption,
    });
    for request in 0..count {
        engine.submit(&scene.model.made_up_tokens(request, prompt), new)?;
    }
    let mut answers = BTreeMap::new();
    while !engine.is_idle() {
        engine.step(&mut |event| {
            if let Event::Finished { id, output, .. } = event {
                answers.insert(id, output.to_vec());
            }
            Delivery::Taken
        })?;
    }
    let copied = engine.memory.stats().tokens;
    Ok((answers.into_values().collect(), engine.scheduler.stats(), copied))
}

/// Enough memory, recompute and swap, on the real model.
pub fn raced(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Take memory back",
        "Every text grows, and all of them together may outgrow memory. Then a request is preempted: the youngest of the least urgent class, never the oldest of all.",
    );
    story.predict("sent-back");
    let (count, prompt, new) = REQUESTS;
    let fit = WAYS[1].1;
    story.say(format!(
        "{count} requests of {prompt} → {new} tokens run at once, in memory for {count} and for {fit} of them at their longest."
    ));
    let mut rows = Vec::new();
    for (name, fit, preemption) in WAYS {
        let (run, counted) = ledger::measure(|| serve(scene, fit, preemption));
        let (_, stats, copied) = run?;
        story.ledger(&counted);
        story.values(name, stats);
        let counts = [
            stats.preemptions,
            stats.rows,
            stats.recomputed_tokens,
            copied,
            stats.steps,
        ];
        rows.push(std::iter::once(name.to_owned()).chain(counts.map(|count| count.to_string())));
    }
    story.rows(
        &[
            "memory",
            "preemptions",
            "rows",
            "computed again",
            "copied tokens",
            "steps",
        ],
        rows,
    );
    let race = Race::new("sent-back", "All answers, by what happens when memory is short")
        .rounds(if scene.model.is_large() { 1 } else { 5 })
        .check(|a: &Vec<Vec<TokenId>>, b| (a == b).then_some(()).ok_or("an answer changed".to_owned()));
    let race = WAYS.into_iter().fold(race, |race, (name, fit, preemption)| {
        // A run that failed has no answer, and the check says so.
        race.entry(name, None, move || {
            serve(scene, fit, preemption).map_or_else(|_| Vec::new(), |run| run.0)
        })
    });
    let result = story.race(race)?;
    story.say(format!(
        "All answers are the same in all three. With memory for half of them, recompute takes {:.2} times as long and swap {:.2} times. Most of that is neither rows nor \
         copies: fewer run at a time, so there are more steps.",
        result.ratio(WAYS[0].0, WAYS[1].0),
        result.ratio(WAYS[0].0, WAYS[2].0),
    ));
    Ok(())
}
