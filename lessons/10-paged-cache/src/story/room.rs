//! What is wasted: half a block (P1), and sixteen long slots that do not fit where blocks do (P4).

use super::{BLOCK_SIZE, Scene};
use continuous_batching::slots::Slots;
use kv_cache::shapes::known_models;
use lab::alloc::with_budget;
use lab::chart::Chart;
use lab::number;
use lab::story::{Claim, Story, Verdict};
use paged_cache::BlockManager;
use paged_cache::regions::Regions;
use paged_cache::reserve::reserve;
use paged_cache::ways::{Run, Way, conversation, serve};

/// Number of positions of the memory, and of the longest text.
const MEMORY: (usize, usize) = (16_384, 2048);
/// Number of texts of a load, and the most that run at once: more than fit.
const TEXTS: (usize, usize) = (240, 256);
/// The loads: by what the lengths of the conversation trace are divided.
const LOADS: [f64; 2] = [4.0, 21.0];
const WAYS: [&str; 4] = ["slots (08)", "one piece, grows", "blocks of 16", "blocks of 256"];
/// Share in use that the claim promises of blocks.
const CLAIMED: f64 = 0.9;

/// Used share by length of text and size of block: in blocks of 16 it is 91 % at 80 tokens, 84 % at 40.
pub fn half_a_block(story: &mut Story) {
    story.step(
        "Half a block is empty",
        "A text takes a block when it reaches it. All its blocks are full but the last one.",
    );
    story.predict("half-a-block");
    let rows = [40, 80, 320, 1280].map(|mean| {
        let share = |used: f64| format!("{:.0} %", 100.0 * used);
        let [one, small, middle, large] = [1, 16, 64, 256].map(|block| share(used(mean, block)));
        [mean.to_string(), one, small, middle, large]
    });
    let head = ["tokens", "block 1", "block 16", "block 64", "block 256"];
    story.rows(&head, rows);
    story.values("pages_of_256_at_80", used(80, 256));
    story.say("A block pays if the text is several times as long as it is.");
}

/// Share that texts of about `mean` tokens use of their blocks: mean over 64 lengths.
fn used(mean: usize, block_size: usize) -> f64 {
    let (tokens, room) = (mean - 31..=mean + 32).fold((0, 0), |(tokens, room), len| {
        (tokens + len, room + len.div_ceil(block_size) * block_size)
    });
    tokens as f64 / room as f64
}

/// One load in one way: the run, the number of steps in which a text waited, and the number of positions moved.
fn held(way: &str, seed: u64, shorter: f64) -> (Run, usize, u64) {
    let (positions, longest) = MEMORY;
    let texts = conversation(seed, TEXTS.0, shorter, (1024, 1024));
    let mut regions = Regions::new(positions, longest);
    let blocks = |size| BlockManager::new(positions / size, size, longest).without_prefix_cache();
    let (mut slots, mut small, mut large) = (Slots::new(positions / longest, longest), blocks(16), blocks(256));
    let way: &mut dyn Way = match WAYS.iter().position(|name| *name == way) {
        Some(0) => &mut slots,
        Some(1) => &mut regions,
        Some(2) => &mut small,
        _ => &mut large,
    };
    let (run, crowded) = serve(way, &texts, TEXTS.1);
    (run, crowded, regions.moved())
}

/// P1: two loads, each in slots, in regions that grow, in small and in large blocks.
pub fn ways(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let means = LOADS.map(|shorter| {
        let texts = conversation(scene.seed, TEXTS.0, shorter, (1024, 1024));
        texts
            .iter()
            .map(|text| text.prompt_tokens + text.new_tokens)
            .sum::<usize>()
            / TEXTS.0
    });
    story.step(
        "One load, four ways to hold it",
        &format!(
            "{} texts with the lengths of a conversation trace, {} tokens in the mean, and then {}. Reserve the longest \
             text; grow in one piece, which doubles and moves; or take blocks of 16, or of 256.",
            TEXTS.0, means[0], means[1]
        ),
    );
    let (mut rows, mut usage, mut apart) = (Vec::new(), Vec::new(), 0);
    for (shorter, mean) in LOADS.iter().zip(means) {
        let mut of_load = Vec::new();
        for name in WAYS {
            let (run, crowded, moved) = held(name, scene.seed, *shorter);
            let crowd = &run.samples[..crowded];
            let each = |sum: usize| sum as f64 / crowd.len().max(1) as f64;
            let live = each(crowd.iter().map(|s| s.live).sum()) / MEMORY.0 as f64;
            apart += crowd.iter().filter(|sample| sample.lost > 0).count();
            rows.push([
                format!("{mean}"),
                name.to_owned(),
                format!("{:.0} %", 100.0 * run.mean_usage(crowded)),
                format!("{:.0} %", 100.0 * live),
                format!("{:.1}", each(crowd.iter().map(|s| s.running).sum())),
                run.samples.len().to_string(),
                number::grouped(moved),
            ]);
            of_load.push(run.mean_usage(crowded));
        }
        usage.push(of_load);
    }
    let head = ["mean", "way", "held in use", "of all", "at once", "steps", "moved"];
    story.rows(&head, rows);
    story.say(
        "Means over the steps in which a text waited. “Held” counts free positions too that lie apart and so are of no \
         use to the text that waits.",
    );
    story.values("usage", &usage);
    story.values("mean_tokens", means);
    story.values("num_texts", TEXTS.0);
    claim(story, &usage, means, apart);
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let title = format!(
        "Blocks of 256 use {} of what they hold at {} tokens, {} at {}",
        percent(usage[0][3]),
        means[0],
        percent(usage[1][3]),
        means[1]
    );
    let parts = means.map(|mean| format!("{mean} tokens in the mean"));
    let mut chart = Chart::bars("use", &title)
        .y_label("% of held or lost positions that hold a token")
        .note(&format!(
            "{} texts, room for {} positions",
            TEXTS.0,
            number::grouped(MEMORY.0 as u64)
        ))
        .y_range(0.0, 100.0);
    for (way, name) in WAYS.iter().enumerate() {
        chart = chart.group(
            name,
            &[0, 1].map(|load: usize| (parts[load].as_str(), 100.0 * usage[load][way])),
        );
    }
    story.chart(&chart)?;
    Ok(())
}

fn claim(story: &mut Story, usage: &[Vec<f64>], means: [usize; 2], apart: usize) {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let of = |way: usize| format!("{} and {}", percent(usage[0][way]), percent(usage[1][way]));
    let wasted = usage.iter().all(|ways| ways[0] < 0.5 && ways[1] < ways[2]) && apart > 0;
    let (small, large) = (
        usage.iter().all(|u| u[2] > CLAIMED),
        usage.iter().all(|u| u[3] > CLAIMED),
    );
    story.claim(Claim {
        id: "P1",
        claimed: "Reserving the maximum length per request wastes most of the cache; growing on demand fragments; \
             blocks (pages) reach over 90 % use",
        value: 100.0 * usage[1][3],
        unit: "% of held blocks of 256 in use, short texts",
        verdict: Verdict::of(wasted && small && large, wasted && (small || large)),
        note: &format!(
            "At {} and {} tokens in the mean: slots use {}, regions that grow {} (in {apart} steps the free memory was \
             enough for the text that waited and lay apart), blocks of 16 {}, blocks of 256 {}. The claim was made for \
             pages of 256 tokens: it depends on the length of a text over that of a page.",
            means[0],
            means[1],
            of(0),
            of(1),
            of(2),
            of(3)
        ),
    });
}

/// Number of requests at once, and the longest text.
const PLACES: usize = 16;
const LONGEST: usize = 4096;
/// Number of positions that the budget has room for: a quarter of what the slots need.
const ROOM: usize = PLACES * LONGEST / 4;

/// P4: an allocation that is refused, and the same load in blocks.
pub fn sixteen_slots(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let models = known_models();
    let price = |name: &str, bytes| {
        let shape = models.iter().find(|shape| shape.name == name).expect("a known model");
        shape.kv_bytes(1, bytes)
    };
    let (each, seven) = (price("SmolLM2-135M", 4), price("Llama-7B", 2));
    let (wanted, budget) = (each * (PLACES * LONGEST) as u64, each * ROOM as u64);
    story.step(
        "Sixteen slots of 4096",
        &format!(
            "Sixteen texts at once, of up to 4096 tokens, at the prices of SmolLM2-135M in f32. The allocator of this \
             program gets a budget of {}, a quarter of what the slots need.",
            number::bytes(budget)
        ),
    );
    let refused = with_budget(budget, || reserve(PLACES * LONGEST, each));
    match &refused {
        Ok(_) => story.say("The allocator gave the memory of the slots, against its budget."),
        Err(error) => story.say(format!("Slots: {error}.")),
    }
    story.values("refusal", refused.as_ref().err().map(ToString::to_string));
    let reserved = with_budget(budget, || reserve(ROOM, each).is_ok());
    let what = if reserved { "given" } else { "refused" };
    story.say(format!("Blocks: {} in one piece, {what}.", number::bytes(budget)));

    let texts = conversation(scene.seed, 96, 1.0, (LONGEST - 1024, 1024));
    let mut blocks = BlockManager::new(ROOM / BLOCK_SIZE, BLOCK_SIZE, LONGEST).without_prefix_cache();
    let mut slots = Slots::new(ROOM / LONGEST, LONGEST);
    let ways: [(&str, &mut dyn Way); 2] = [("4 slots of 4096 (08)", &mut slots), ("blocks of 16", &mut blocks)];
    let runs = ways.map(|(name, way)| (name, serve(way, &texts, PLACES).0));
    let head = ["way, 96 texts", "at once", "most positions held", "steps"];
    story.rows(
        &head,
        runs.iter().map(|(name, run)| {
            let held = number::grouped(run.most_held() as u64);
            [
                (*name).to_owned(),
                run.most_running().to_string(),
                held,
                run.samples.len().to_string(),
            ]
        }),
    );
    let [few, many] = runs.each_ref().map(|(_, run)| run.samples.len());
    story.values("steps", [few, many]);
    story.values("wanted", number::bytes(wanted));
    story.values("budget", number::bytes(budget));
    let served = reserved && runs[1].1.most_held() <= ROOM && blocks.num_held() == 0;
    story.claim(Claim {
        id: "P4",
        claimed: "16 slots x 4096 tokens preallocated runs out of memory where on-demand blocks serve the same load",
        value: few as f64 / many as f64,
        unit: "times fewer steps than the slots that fit",
        verdict: Verdict::of(refused.is_err() && served, refused.is_err() || served),
        note: &format!(
            "The slots want {}, the budget is {}, and the allocation is refused. In blocks the load is served there in \
             {many} steps; the 4 slots that fit need {few}. Lengths only, no model runs. For a 7B model in fp16 the \
             same slots are {} by the formula of lesson 06.",
            number::bytes(wanted),
            number::bytes(budget),
            number::bytes(seven * (PLACES * LONGEST) as u64)
        ),
    });
    Ok(())
}
