//! What it costs to take a request's memory: rows or copies.

use super::{BLOCK_SIZE, Means, Scene};
use continuous_batching::{Delivery, Event, SeqId};
use lab::ledger;
use lab::race::Race;
use lab::story::Story;
use lab::table::Table;
use scheduling::Preemption;
use scheduling::stats::ScheduleStats;
use std::collections::BTreeMap;
use training::TokenId;

/// Requests, their prompts and answers.
const REQUESTS: (usize, usize, usize) = (8, 24, 60);
/// Where memory is short: the number of requests that it holds at their longest.
const FIT: usize = 4;

/// What is left of a text.
pub fn text(story: &mut Story) -> anyhow::Result<()> {
    story.step(
        "Take memory back",
        "Every text grows, and all of them together may outgrow memory. Then a request is preempted: the youngest of the least urgent class, never the oldest of all.",
    );
    story.predict("sent-back");
    Ok(())
}

/// One run: answers, and what was counted.
struct Run {
    answers: BTreeMap<SeqId, Vec<TokenId>>,
    stats: ScheduleStats,
    copied_tokens: u64,
}

fn serve(scene: &Scene, num_blocks: usize, preemption: Preemption) -> anyhow::Result<Run> {
    let (count, prompt, new) = REQUESTS;
    let mut engine = scene.engine(&Means {
        max_running: count,
        chunk: 64,
        num_blocks,
        preemption,
    });
    for request in 0..count {
        let prompt = scene.model.made_up_tokens(request, prompt);
        engine.submit(&prompt, new)?;
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
    Ok(Run {
        answers,
        stats: engine.scheduler.stats(),
        copied_tokens: engine.memory.stats().tokens,
    })
}

/// Enough memory, recompute and swap, on the real model.
pub fn raced(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let (count, prompt, new) = REQUESTS;
    let blocks = |texts: usize| texts * (prompt + new).div_ceil(BLOCK_SIZE);
    let ways = [
        ("enough memory", blocks(count), Preemption::Recompute),
        ("recompute", blocks(FIT), Preemption::Recompute),
        ("swap", blocks(FIT), Preemption::Swap),
    ];
    story.say(format!(
        "{count} requests of {prompt} → {new} tokens run at once, in memory for {count} and for {FIT} of them at their longest."
    ));
    let mut table = Table::new(&[
        "memory",
        "preemptions",
        "rows",
        "computed again",
        "copied tokens",
        "steps",
    ]);
    for (name, num_blocks, preemption) in ways {
        let (run, counted) = ledger::measure(|| serve(scene, num_blocks, preemption));
        let run = run?;
        story.ledger(&counted);
        table.row([
            name.to_owned(),
            run.stats.preemptions.to_string(),
            run.stats.rows.to_string(),
            run.stats.recomputed_tokens.to_string(),
            run.copied_tokens.to_string(),
            run.stats.steps.to_string(),
        ]);
        story.values(name, run.stats);
    }
    story.table(&table);
    let rounds = if scene.model.is_large() { 1 } else { 5 };
    let race = ways.iter().fold(
        Race::new("sent-back", "All answers, by what happens when memory is short")
            .unit("ms")
            .rounds(rounds)
            .baseline("enough memory")
            .check(|a: &Vec<Vec<TokenId>>, b| match a == b {
                true => Ok(()),
                false => Err("an answer changed".to_owned()),
            }),
        |race, (name, num_blocks, preemption)| {
            race.entry(name, None, || {
                let run = serve(scene, *num_blocks, *preemption);
                // A run that failed has no answer, and the check says so.
                run.map_or_else(|_| Vec::new(), |run| run.answers.into_values().collect())
            })
        },
    );
    let result = story.race(race)?;
    story.say(format!(
        "All answers are the same in all three. With memory for half of them, recompute takes {:.2} times as long and swap {:.2} times. Most of that is neither rows nor \
         copies: fewer run at a time, so there are more steps.",
        result.ratio("enough memory", "recompute"),
        result.ratio("enough memory", "swap"),
    ));
    Ok(())
}
