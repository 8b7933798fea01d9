//! The same bytes as slots and as blocks: what more requests in a step are worth.

use super::{BLOCK_SIZE, BUSY, Scene};
use continuous_batching::{Delivery, Engine, Event, FirstCome, Memory, Runner};
use lab::chart::Chart;
use lab::race::Race;
use lab::story::Story;
use paged_cache::BlockManager;
use static_batching::workload::{Lengths, Pace, arrivals};
use training::TokenId;

/// Slots that the memory is worth, and places in the batch over blocks.
const SLOTS: usize = 2;
const PLACES: usize = 16;

/// A prompt and how many tokens follow it.
type Job = (Vec<TokenId>, usize);

/// All answers, in the order of the requests.
fn run<R: Runner, M: Memory<X>, X: Default>(
    engine: &mut Engine<R, M, FirstCome, X>,
    jobs: &[Job],
) -> anyhow::Result<Vec<Vec<TokenId>>> {
    let mut first = None;
    for (prompt, new_tokens) in jobs {
        let id = engine.submit(prompt, *new_tokens)?;
        first.get_or_insert(id.0);
    }
    let mut answers = vec![Vec::new(); jobs.len()];
    engine.run(&mut |event| {
        if let Event::Finished { id, output, .. } = event {
            answers[(id.0 - first.unwrap_or(0)) as usize] = output.to_vec();
        }
        Delivery::Taken
    })?;
    Ok(answers)
}

/// Tokens a second from the same bytes. Answers must be equal.
pub fn race(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "The same bytes, more texts",
        "Now with the model. Memory for two texts of the longest kind, once as two slots, once as blocks. Rows that \
         ride along are nearly free (lesson 07).",
    );
    let context = scene.context();
    let lengths = Lengths::Mix {
        prompt: (16, 64.min(context / 4)),
        new: (8, 48.min(context / 4)),
    };
    let count = if scene.model.is_large() { 16 } else { 48 };
    let jobs: Vec<Job> = arrivals(scene.seed, count, &lengths, &Pace::AtOnce)
        .iter()
        .enumerate()
        .map(|(index, text)| (scene.model.made_up_tokens(index, text.prompt_tokens), text.new_tokens))
        .collect();
    let new_tokens: usize = jobs.iter().map(|job| job.1).sum();
    let num_blocks = SLOTS * context / BLOCK_SIZE;
    let pages = BlockManager::new(num_blocks, BLOCK_SIZE, context).without_prefix_cache();
    let mut slots = scene.slot_engine(SLOTS, context);
    let mut blocks = scene.engine(pages, PLACES);
    let bytes = scene.bytes(SLOTS * context);
    story.show_as("memory of both", bytes, lab::number::bytes(bytes));
    let race = Race::new("same-bytes", &format!("{count} requests in the same bytes"))
        .unit("tokens/s")
        .work(new_tokens as f64)
        .rounds(if scene.model.is_large() { 1 } else { 5 })
        .entry("slots (08)", None, || run(&mut slots, &jobs))
        .entry("blocks", None, || run(&mut blocks, &jobs))
        .baseline("slots (08)")
        .check(|a, b| match (a, b) {
            (Ok(a), Ok(b)) if a == b => Ok(()),
            (Ok(_), Ok(_)) => Err("an answer differs".into()),
            (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
        });
    let race = story.race(race)?;
    let runs = if scene.model.is_large() { 2 } else { 6 };
    let (slot_steps, block_steps) = (slots.num_steps() / runs, blocks.num_steps() / runs);
    story.show("steps with slots", slot_steps);
    story.show("steps with blocks", block_steps);
    let times = race.ratio("blocks", "slots (08)");
    story.say(format!(
        "{:.1} times fewer steps. A step is no faster over blocks: there is room for more rows in it.",
        slot_steps as f64 / block_steps as f64
    ));
    if race.disturbance("blocks", "slots (08)").is_some() {
        story.say(BUSY);
    }
    let mut chart = Chart::bars(
        "same-bytes",
        &format!("{times:.1} times the tokens a second from the same bytes"),
    )
    .y_label("tokens a second")
    .note(&format!(
        "{} for keys and values, model {}",
        lab::number::bytes(bytes),
        scene.model.name
    ));
    for entry in &race.entries {
        chart = chart.bar(&entry.name, entry.median);
    }
    story.chart(&chart.baseline("slots (08)"))?;
    Ok(())
}
