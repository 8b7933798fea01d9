//! What is wasted: half a block, and how that compares with two other ways to hold the same load.

use super::{BLOCK_SIZE, Scene};
use continuous_batching::slots::Slots;
use lab::chart::Chart;
use lab::story::{Claim, Story, Verdict};
use lab::table::Table;
use paged_cache::BlockManager;
use paged_cache::regions::Regions;
use paged_cache::ways::{Run, Text, Way, serve};
use static_batching::workload::{Distribution, Lengths, Pace, arrivals};

/// Positions of the memory, and of the longest text.
const MEMORY: (usize, usize) = (16_384, 2048);
/// Texts of the load.
const TEXTS: usize = 240;
/// Most texts at once: more than fit.
const MOST: usize = 256;
/// Points of a line on the chart.
const POINTS: usize = 120;

/// What claim P1 promises of blocks.
const CLAIMED: f64 = 0.9;

/// Used share by length of text and size of block: in blocks of 16 it is 91 % at 80 tokens, 84 % at 40.
pub fn half_a_block(story: &mut Story) {
    story.step(
        "Half a block is empty",
        "A text takes a block when it reaches it. All its blocks are full but the last one.",
    );
    story.predict("half-a-block");
    let mut table = Table::new(&["tokens", "block 1", "block 4", "block 16", "block 64", "slot of 512"]);
    for mean in [40, 80, 160, 320] {
        let used = |block: usize| format!("{:.0} %", 100.0 * used(mean, block));
        let slot = format!("{:.0} %", 100.0 * mean as f64 / 512.0);
        table.row([mean.to_string(), used(1), used(4), used(16), used(64), slot]);
    }
    story.table(&table);
}

/// Share that texts of about `mean` tokens use of their blocks: mean over 64 lengths.
fn used(mean: usize, block_size: usize) -> f64 {
    let (tokens, room) = (mean - 31..=mean + 32).fold((0, 0), |(tokens, room), len| {
        (tokens + len, room + len.div_ceil(block_size) * block_size)
    });
    tokens as f64 / room as f64
}

/// Lengths of Azure's conversation trace, divided by four and cut off at 1024.
fn texts(scene: &Scene) -> Vec<Text> {
    let quarter = |mu: f64, sigma| Distribution::LogNormal {
        mu: mu - 4f64.ln(),
        sigma,
        max: 1024,
    };
    let lengths = Lengths::Independent {
        prompt: quarter(6.63, 0.985),
        new: quarter(5.02, 0.86),
    };
    arrivals(scene.seed, TEXTS, &lengths, &Pace::AtOnce)
        .iter()
        .map(|arrival| Text {
            prompt_tokens: arrival.prompt_tokens,
            new_tokens: arrival.new_tokens,
        })
        .collect()
}

/// P1: one load in slots, in regions that grow, in blocks.
pub fn three_ways(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "One load, three ways to hold it",
        "Lengths as in a conversation trace. Reserve the longest text; or grow on demand in one piece, which doubles and moves; or take blocks.",
    );
    let texts = texts(scene);
    let mut slots = Slots::new(MEMORY.0 / MEMORY.1, MEMORY.1);
    let mut regions = Regions::new(MEMORY.0, MEMORY.1);
    let mut pages = BlockManager::new(MEMORY.0 / BLOCK_SIZE, BLOCK_SIZE, MEMORY.1).without_prefix_cache();
    let mut ways: [(&str, &mut dyn Way); 3] = [
        ("reserve: slots (08)", &mut slots),
        ("grow: one piece", &mut regions),
        ("blocks of 16", &mut pages),
    ];
    let runs: Vec<(&str, Run, usize)> = (ways.iter_mut())
        .map(|(name, way)| {
            let (run, crowded) = serve(*way, &texts, MOST);
            (*name, run, crowded)
        })
        .collect();
    let mut table = Table::new(&[
        "way",
        "held in use",
        "of all",
        "at once",
        "steps",
        "moved",
        "thrown out",
    ]);
    for (name, run, crowded) in &runs {
        let crowd = &run.samples[..*crowded];
        let mean = |sum: usize| sum as f64 / crowd.len().max(1) as f64;
        let live = mean(crowd.iter().map(|s| s.live).sum()) / MEMORY.0 as f64;
        let moved = if *name == "grow: one piece" { regions.moved() } else { 0 };
        table.row([
            (*name).to_owned(),
            format!("{:.0} %", 100.0 * run.mean_usage(*crowded)),
            format!("{:.0} %", 100.0 * live),
            format!("{:.1}", mean(crowd.iter().map(|s| s.running).sum())),
            run.samples.len().to_string(),
            lab::number::grouped(moved),
            run.preempted.to_string(),
        ]);
    }
    story.table(&table);
    story.say(
        "Means over the steps in which a text waited. The share is that of tokens in the memory that is held, or free and of no use to the waiting text. The rest of \
         all memory is reserved by running texts, or too little for the next one.",
    );
    let usage: Vec<f64> = runs.iter().map(|(_, run, crowded)| run.mean_usage(*crowded)).collect();
    story.values("usage", &usage);
    claim(story, &usage, &runs[1].1);
    let mut chart = Chart::lines("use", "What is held, and what is used of it")
        .x_label("step")
        .y_label("% of held or lost positions that hold a token")
        .note(&format!(
            "{TEXTS} texts of a conversation trace, room for {} positions",
            lab::number::grouped(MEMORY.0 as u64)
        ))
        .y_range(0.0, 100.0);
    for (name, run, crowded) in &runs {
        chart = chart.dashed(name, thinned(&run.samples[..*crowded]));
    }
    story.chart(&chart)?;
    Ok(())
}

/// Some of the points of a run, each the mean of the steps around it.
fn thinned(samples: &[paged_cache::ways::Sample]) -> Vec<(f64, f64)> {
    let each = samples.len().div_ceil(POINTS).max(1);
    let point = |(index, steps): (usize, &[paged_cache::ways::Sample])| {
        let usage = steps.iter().map(|sample| sample.usage()).sum::<f64>() / steps.len() as f64;
        ((index * each) as f64, 100.0 * usage)
    };
    samples.chunks(each).enumerate().map(point).collect()
}

fn claim(story: &mut Story, usage: &[f64], grown: &Run) {
    let (reserve, grow, blocks) = (usage[0], usage[1], usage[2]);
    let lost = grown.samples.iter().filter(|sample| sample.lost > 0).count();
    let verdict = match (blocks >= CLAIMED, reserve < 0.5 && grow < blocks && lost > 0) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    let note = format!(
        "Reserving uses {:.0} %, growing in one piece {:.0} %: a region is a power of two, and in {lost} steps the free memory was enough for the text that waited \
         and lay apart. Blocks waste half of the last block of each text.",
        100.0 * reserve,
        100.0 * grow
    );
    story.claim(Claim {
        id: "P1",
        claimed: "Reserving the maximum length per request wastes most of the cache; growing on demand fragments; blocks (pages) reach over 90 % use",
        value: 100.0 * blocks,
        unit: "% of held blocks in use",
        verdict,
        note: &note,
    });
}
