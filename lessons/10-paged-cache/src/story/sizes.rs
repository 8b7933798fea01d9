//! Block size against waste and speed.

use super::{BUSY, Scene};
use continuous_batching::batch::{Batch, BatchSequence};
use continuous_batching::{Admission, KvCache, Memory, Request, SeqId, SlotCache, Slots};
use lab::chart::Chart;
use lab::race::Race;
use lab::story::Story;
use paged_cache::{BlockManager, PagedCache};
use std::time::Duration;
use training::TokenId;

/// Names in the race and on the chart.
const SLOTS: &str = "slots (08)";
const BLOCKS: &str = "blocks";
/// Block sizes that are tried.
const SIZES: [usize; 5] = [1, 4, 16, 64, 256];
/// Texts that decode together.
const TEXTS: usize = 8;

/// A batch of one part of each text: `rows` rows from position `first` on. Memory for them is taken.
fn batch(memory: &mut impl Memory, texts: std::ops::Range<u64>, first: usize, rows: usize) -> Batch {
    let mut batch = Batch::default();
    for id in texts {
        assert!(memory.grow(SeqId(id), first + rows), "there is room for all texts");
        batch.sequences.push(BatchSequence {
            id: SeqId(id),
            first_row: batch.tokens.len(),
            num_rows: rows,
            wants_logits: false,
        });
        batch.tokens.resize(batch.tokens.len() + rows, TokenId(0));
        batch.positions.extend(first..first + rows);
    }
    memory.complete(&mut batch);
    batch
}

/// Queries, keys and values of some rows: numbers between -1 and 1.
fn made_up_rows(scene: &Scene, rows: usize, seed: usize) -> Vec<f32> {
    let llama = &scene.model.config.llama;
    let numbers = rows * (llama.q_size() + 2 * llama.kv_size());
    (0..numbers)
        .map(|i| ((i * 7919 + seed * 104_729) % 1999) as f32 / 1000.0 - 1.0)
        .collect()
}

/// Fills a cache as an engine would: each prompt at once, three quarters of the text, then a row of each text in turn.
/// Returns the batch of the last row of each text.
fn fill(memory: &mut impl Memory, cache: &mut impl KvCache, scene: &Scene, context: usize) -> Batch {
    for id in 0..TEXTS as u64 {
        let mut request = Request::new(SeqId(id), &[TokenId(0)], context - 1, context);
        assert_eq!(memory.admit(&mut request), Admission::Admitted);
    }
    let prompt = context * 3 / 4;
    let mut pass = |batch: &Batch, seed: usize| {
        let rows = made_up_rows(scene, batch.num_rows(), seed);
        for layer in 0..scene.model.config.llama.num_layers {
            cache.append(layer, batch, &rows);
        }
    };
    for id in 0..TEXTS as u64 {
        pass(&batch(memory, id..id + 1, 0, prompt), id as usize);
    }
    let mut last = Batch::default();
    for position in prompt..context {
        last = batch(memory, 0..TEXTS as u64, position, 1);
        pass(&last, position);
    }
    last
}

/// Attention of one more row of each text, in all layers. Returns the last layer's outputs.
fn attend<C: KvCache>(cache: &C, scene: &Scene, batch: &Batch, qkv: &[f32], scores: &mut Vec<f32>) -> Vec<f32> {
    let llama = &scene.model.config.llama;
    let mut out = vec![0.0; batch.num_rows() * llama.q_size()];
    for layer in 0..llama.num_layers {
        cache.attend(&scene.pool, llama, layer, batch, qkv, scores, &mut out);
    }
    out
}

/// Memory that texts of 80 tokens on average hold, as a multiple of what they need.
fn room(block_size: usize) -> f64 {
    let (tokens, room) = (17..=143usize).fold((0, 0), |(tokens, room), len| {
        (tokens + len, room + len.div_ceil(block_size) * block_size)
    });
    room as f64 / tokens as f64
}

/// The race of block sizes, against slots.
pub fn race(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "How large is a block?",
        "Small blocks waste little, and cut what attention reads into many pieces.",
    );
    story.predict("attention");
    let llama = &scene.model.config.llama;
    let context = scene.context() * 3 / 4;
    let mut slots = SlotCache::new(llama, TEXTS, context);
    let slot_batch = fill(&mut Slots::new(TEXTS, context), &mut slots, scene, context);
    let mut paged = Vec::new();
    for size in SIZES {
        let num_blocks = TEXTS * context.div_ceil(size);
        let mut blocks = BlockManager::new(num_blocks, size, context).without_prefix_cache();
        let mut cache = PagedCache::new(llama, num_blocks, size);
        let batch = fill(&mut blocks, &mut cache, scene, context);
        paged.push((size, cache, batch));
    }
    let qkv = made_up_rows(scene, TEXTS, 1);
    let mut race = Race::new(
        "block-size",
        &format!("Attention of {TEXTS} rows over {context} positions, x: block size"),
    )
    .unit("µs")
    .rounds(if scene.model.is_large() { 5 } else { 15 })
    .at_least(Duration::from_millis(if scene.model.is_large() { 1 } else { 6 }))
    .baseline(SLOTS)
    .check(|a: &Vec<f32>, b| match a == b {
        true => Ok(()),
        false => Err("a bit differs".into()),
    });
    for (size, cache, batch) in &paged {
        let (x, slots) = (Some(*size as f64), &slots);
        let (last, qkv) = (&slot_batch, &qkv);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        race = race
            .entry(SLOTS, x, move || attend(slots, scene, last, qkv, &mut theirs))
            .entry(BLOCKS, x, move || attend(cache, scene, batch, qkv, &mut ours));
    }
    let race = story.race(race)?;
    let time = |size: usize| race.median_at(BLOCKS, size as f64) / race.median_at(SLOTS, size as f64);
    let row = |size: usize| {
        [
            size.to_string(),
            format!("{:.2}", room(size)),
            format!("{:.2}", time(size)),
        ]
    };
    let head = ["block size", "memory, times the tokens", "time, times that of slots"];
    story.rows(&head, SIZES.map(row));
    story.values("times", SIZES.map(|size| (size, time(size))));
    if race.disturbance(BLOCKS, SLOTS).is_some() {
        story.say(BUSY);
    }
    story.say(
        "Where blocks are ahead, the reason is not that they are blocks: their table says what is read next, so it can \
         be asked for before it is needed. One piece could be asked for too.",
    );
    let points = |of: &dyn Fn(usize) -> f64| SIZES.iter().map(|size| (*size as f64, of(*size))).collect();
    let chart = Chart::lines("blocks", "Small blocks cost time, large ones memory")
        .x_label("positions of a block")
        .y_label("times")
        .log_x()
        .log_y()
        .note(&format!(
            "{TEXTS} texts of {context} positions; memory: texts of 80 tokens in the mean; model {}",
            scene.model.name
        ))
        .series("attention, against slots (08)", points(&time))
        .dashed("memory, against the tokens", points(&room))
        .rule(SLOTS, 1.0);
    story.chart(&chart)?;
    Ok(())
}
