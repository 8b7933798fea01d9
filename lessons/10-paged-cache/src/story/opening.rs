//! The first screen: blocks that fill, are shared, copied and freed while texts are written. Then two questions, and
//! one table.

use super::map::{self, letter};
use super::{PagedEngine, Scene};
use anyhow::Context;
use continuous_batching::{Delivery, Event, SeqId};
use generation::generate::greedy;
use generation::text::decode_continuation;
use lab::story::Story;
use lab::table::Table;
use lab::term::Tone;
use paged_cache::exercises::place::block_place;
use paged_cache::stats::BlockStats;
use paged_cache::{BlockManager, Sharing};
use std::collections::BTreeMap;
use std::time::Duration;
use training::TokenId;

/// Blocks of the map, and positions of one: small, so that something happens.
const BLOCKS: (usize, usize) = (24, 4);
/// Longest text of the opening.
const LONGEST: usize = 40;
/// Requests: when they come, how they begin, how many tokens they get. The second is another answer to the first; the
/// last begins as the first did.
const TEXTS: [(u64, &str, usize); 4] = [
    (0, "Once upon a time there was a little", 16),
    (1, "Once upon a time there was a little", 12),
    (3, "Ben the bear was sad.", 20),
    (20, "Once upon a time there was a little dog who", 12),
];
/// The other answer: its first token is the second best.
const SECOND: SeqId = SeqId(1);
/// How long a step is shown to a reader at a terminal.
const WATCHED: Duration = Duration::from_millis(90);

/// The opening's engine.
fn engine(scene: &Scene) -> PagedEngine<'_> {
    let pages = BlockManager::new(BLOCKS.0, BLOCKS.1, LONGEST);
    scene
        .engine(pages, TEXTS.len())
        .with_choice(Box::new(|request, logits| {
            let best = greedy(logits)?;
            if request.id != SECOND || !request.output.is_empty() {
                return Ok(best);
            }
            logits[best.index()] = f32::NEG_INFINITY;
            greedy(logits)
        }))
}

/// The prompt of a text. Without a tokenizer the texts that begin alike still do.
fn prompt(scene: &Scene, index: usize) -> anyhow::Result<Vec<TokenId>> {
    let text = match &scene.prompt {
        Some(own) if index < 2 => own.as_str(),
        _ => TEXTS[index].1,
    };
    let mut tokens = match &scene.model.tokenizer {
        Some(_) => scene.model.encode_prompt(text)?,
        None => scene.model.made_up_tokens(index % 2 * (index / 2), 9 + 2 * (index / 3)),
    };
    tokens.truncate(LONGEST / 2);
    Ok(tokens)
}

/// Writes four texts into 24 blocks, and shows the blocks.
pub fn blocks(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let mut engine = engine(scene);
    story.say("");
    story.say(format!(
        "{} blocks of {} positions. A letter holds a block, a number says how many hold it; ° is free and can still be found, · is free.",
        BLOCKS.0, BLOCKS.1
    ));
    story.say("");
    let (mut ids, mut outputs) = (Vec::new(), BTreeMap::new());
    let (mut before, mut shown) = (BlockStats::default(), String::new());
    let mut lines = Vec::new();
    for step in 0.. {
        let mut notes: Vec<String> = Vec::new();
        for (index, (at, _, new_tokens)) in TEXTS.iter().enumerate() {
            if *at == step {
                let new_tokens = scene.tokens.unwrap_or(*new_tokens).min(LONGEST / 2);
                let sharing = Sharing {
                    parent: (index == 1).then_some(SeqId(0)),
                    ..Sharing::default()
                };
                let id = engine.submit_with(&prompt(scene, index)?, new_tokens, sharing)?;
                ids.push(id);
                notes.push(format!("{} comes", letter(id)));
            }
        }
        let mut left = Vec::new();
        engine.step(&mut |event| {
            if let Event::Finished { id, output, .. } = event {
                outputs.insert(id, output.to_vec());
                left.push(format!("{} leaves", letter(id)));
            }
            Delivery::Taken
        })?;
        let blocks = &engine.memory;
        notes.extend(what_happened(&before, &blocks.stats()));
        notes.extend(left);
        before = blocks.stats();
        let map = map::line(blocks, &ids);
        if map != shown || !notes.is_empty() {
            let note = story.paint(Tone::Dim, &notes.join(", "));
            let painted = story.paint(Tone::Accent, &map);
            story.print(format!("   {:>3}  {painted}  {note}\n", step + 1));
            lines.push(map.clone());
        }
        shown = map;
        if story.is_interactive() {
            // Slow enough to be watched: by itself all of it is over in a blink.
            std::thread::sleep(WATCHED);
        }
        if engine.is_idle() && ids.len() == TEXTS.len() {
            break;
        }
    }
    story.say("");
    for id in &ids {
        let text = match &scene.model.tokenizer {
            Some(tokenizer) => decode_continuation(tokenizer, &outputs[id]),
            None => format!("{} tokens", outputs[id].len()),
        };
        let text = text.replace('\n', " ");
        story.say(format!("{}  … {}", letter(*id), text.trim()));
    }
    story.values("maps", &lines);
    story.values("stats", before);
    Ok(())
}

/// What a step did to the blocks, in words.
fn what_happened(before: &BlockStats, now: &BlockStats) -> Vec<String> {
    [
        (now.forked - before.forked, "tokens of a prompt taken over"),
        (now.prefix_hits - before.prefix_hits, "tokens found"),
        (now.copies - before.copies, "block copied at a fork"),
        (now.evictions - before.evictions, "evicted"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect()
}

/// Two questions on earlier lessons.
pub fn recall(story: &mut Story) {
    story.step(
        "Two questions from before",
        "If you begin with this lesson, skip them with Enter; lesson 08's page has what you need.",
    );
    story.predict("recall-slot");
    story.predict("recall-kept");
}

/// From positions to blocks, for two texts that take turns.
pub fn places(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Where does a position stand?",
        "Two texts grow in turns, so their blocks lie mixed. A table for each says which block comes next.",
    );
    let mut engine = scene.engine(BlockManager::new(8, BLOCKS.1, LONGEST.min(32)), 2);
    let ids = [
        engine.submit(&scene.model.made_up_tokens(0, 5), 8)?,
        engine.submit(&scene.model.made_up_tokens(1, 3), 8)?,
    ];
    for _ in 0..7 {
        engine.step(&mut |_| Delivery::Taken)?;
    }
    let mut table = Table::new(&["text", "blocks", "position", "entry", "block", "place"]);
    for id in ids {
        let held = engine.memory.table(id).context("it still runs")?;
        let numbers: Vec<String> = held.blocks.iter().map(|block| block.0.to_string()).collect();
        for position in [0, BLOCKS.1, held.len - 1] {
            let (block, place) = block_place(&held.blocks, BLOCKS.1, position);
            table.row([
                letter(id).to_string(),
                numbers.join(" "),
                position.to_string(),
                (position / BLOCKS.1).to_string(),
                block.0.to_string(),
                place.to_string(),
            ]);
        }
    }
    story.table(&table);
    story.say(format!(
        "Entry = position / {0}, place = position % {0}. Nothing else in the engine has changed: lesson 08's step, its batch and its forward pass run as \
         they are.",
        BLOCKS.1
    ));
    Ok(())
}
