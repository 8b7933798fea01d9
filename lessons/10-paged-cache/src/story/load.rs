//! Sixteen slots of 4096 against the same load in blocks.

use super::{BLOCK_SIZE, Scene};
use continuous_batching::slots::Slots;
use lab::number;
use lab::story::{Claim, Story, Verdict};
use lab::table::Table;
use paged_cache::BlockManager;
use paged_cache::ways::{Text, Way, serve};
use static_batching::workload::{Distribution, Lengths, Pace, arrivals};

/// Places in the batch, and the longest text.
const PLACES: usize = 16;
const LONGEST: usize = 4096;
/// Positions that memory has room for: a quarter of what the slots would need.
const ROOM: usize = PLACES * LONGEST / 4;
/// Texts of the load.
const TEXTS: usize = 96;

/// P4: what is refused, what is served, in how many steps.
pub fn sixteen_slots(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Sixteen slots of 4096",
        "Sixteen texts at once, of up to 4096 tokens each, and memory for a quarter of that. Most texts are much shorter.",
    );
    // The conversation trace as it is, as far as the longest text allows.
    let of = |mu, sigma, max| Distribution::LogNormal { mu, sigma, max };
    let lengths = Lengths::Independent {
        prompt: of(6.63, 0.985, LONGEST - 1024),
        new: of(5.02, 0.86, 1024),
    };
    let texts: Vec<Text> = arrivals(scene.seed, TEXTS, &lengths, &Pace::AtOnce)
        .iter()
        .map(|arrival| Text {
            prompt_tokens: arrival.prompt_tokens,
            new_tokens: arrival.new_tokens,
        })
        .collect();
    let longest = texts.iter().map(|text| text.prompt_tokens + text.new_tokens);
    let mean = longest.clone().sum::<usize>() / TEXTS;
    let (budget, wanted) = (scene.bytes(ROOM), scene.bytes(PLACES * LONGEST));
    story.show_as("memory", budget, number::bytes(budget));
    story.show_as(
        "texts",
        mean,
        format!(
            "{TEXTS}, {mean} tokens in the mean, {} at most",
            longest.max().unwrap_or(0)
        ),
    );

    let mut table = Table::new(&["way", "wants", "fits", "at once", "positions held", "steps"]);
    let fits = |bytes: u64| if bytes <= budget { "yes" } else { "no" };
    table.row([
        "16 slots of 4096 (08)",
        &number::bytes(wanted),
        fits(wanted),
        "",
        "",
        "",
    ]);
    let mut row = |name: &str, way: &mut dyn Way, positions: usize| {
        let (run, _) = serve(way, &texts, PLACES);
        let bytes = scene.bytes(positions);
        table.row([
            name,
            &number::bytes(bytes),
            fits(bytes),
            &run.most_running().to_string(),
            &number::grouped(run.most_held() as u64),
            &run.samples.len().to_string(),
        ]);
        (run.samples.len(), run.most_held())
    };
    let (slot_steps, _) = row("4 slots of 4096 (08)", &mut Slots::new(ROOM / LONGEST, LONGEST), ROOM);
    let mut pages = BlockManager::new(ROOM / BLOCK_SIZE, BLOCK_SIZE, LONGEST).without_prefix_cache();
    let (block_steps, held) = row("blocks of 16, 16 places", &mut pages, ROOM);
    let free_again = pages.num_held() == 0;
    story.table(&table);
    story.values("steps", [slot_steps, block_steps]);
    let refused = wanted > budget;
    let verdict = match (refused, held <= ROOM && free_again) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    let note = format!(
        "16 slots of 4096 want {}, there are {}. In blocks the whole load is served there, {} steps; with the 4 slots that fit it takes {} steps. \
         The numbers of memory are those of {}; lengths only, no model runs.",
        number::bytes(wanted),
        number::bytes(budget),
        block_steps,
        slot_steps,
        scene.model.name
    );
    story.claim(Claim {
        id: "P4",
        claimed: "16 slots x 4096 tokens preallocated runs out of memory where on-demand blocks serve the same load",
        value: slot_steps as f64 / block_steps as f64,
        unit: "times fewer steps than the slots that fit",
        verdict,
        note: &note,
    });
    Ok(())
}
