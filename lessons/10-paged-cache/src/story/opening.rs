//! The first screen: what slots waste, then blocks that fill, are shared, copied and freed while texts are written.

use super::{PagedEngine, Scene};
use continuous_batching::slots::Slots;
use continuous_batching::{Delivery, Event, SeqId};
use generation::generate::greedy;
use generation::text::decode_continuation;
use lab::story::Story;
use lab::term::{self, Tone};
use paged_cache::stats::BlockStats;
use paged_cache::ways::{Text, serve};
use paged_cache::{BlockId, BlockManager, Sharing};
use std::collections::BTreeMap;
use std::time::Duration;
use training::TokenId;

/// Number of blocks of the map, and of positions in one: small, so that something happens.
const BLOCKS: (usize, usize) = (24, 4);
/// Longest text of the opening.
pub const LONGEST: usize = 40;
/// Requests: the step in which they come, the beginning of the text, the number of new tokens. The second is another
/// answer to the first; the last begins as the first did.
const TEXTS: [(u64, &str, usize); 4] = [
    (0, "Once upon a time there was a little", 16),
    (1, "Once upon a time there was a little", 12),
    (3, "Ben the bear was sad.", 20),
    (20, "Once upon a time there was a little dog who", 12),
];
/// The other answer: its first token is the second best.
const SECOND: SeqId = SeqId(1);
/// Time for which a step is shown to a reader at a terminal.
const WATCHED: Duration = Duration::from_millis(90);

/// The opening's engine.
fn engine(scene: &Scene) -> PagedEngine<'_> {
    let blocks = BlockManager::new(BLOCKS.0, BLOCKS.1, LONGEST);
    let second_best = move |request: &continuous_batching::Request<Sharing>, logits: &mut [f32]| {
        let best = greedy(logits)?;
        if request.id != SECOND || !request.output.is_empty() {
            return Ok(best);
        }
        logits[best.index()] = f32::NEG_INFINITY;
        greedy(logits)
    };
    scene.engine(blocks, TEXTS.len()).with_choice(Box::new(second_best))
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

/// The problem: the same memory in slots, as numbers.
fn slots(story: &mut Story, prompts: &[Vec<TokenId>], new_tokens: &[usize]) {
    let positions = BLOCKS.0 * BLOCKS.1;
    let texts: Vec<Text> = (prompts.iter().zip(new_tokens))
        .map(|(prompt, new_tokens)| Text {
            prompt_tokens: prompt.len(),
            new_tokens: *new_tokens,
        })
        .collect();
    let (run, _) = serve(&mut Slots::new(positions / LONGEST, LONGEST), &texts, TEXTS.len());
    let live = run.samples.iter().map(|sample| sample.live).sum::<usize>() as f64;
    let used = live / (run.samples.len() * positions) as f64;
    story.say("");
    story.say(format!(
        "Memory for {positions} positions, four texts, none longer than {LONGEST} tokens. Lesson 08 cuts the memory \
         into slots of {LONGEST}: two texts run, two wait, and {:.0} % of the memory holds a token. The same memory in \
         {} blocks of {}, step by step:",
        100.0 * used,
        BLOCKS.0,
        BLOCKS.1
    ));
    story.values("used_by_slots", used);
}

/// Writes four texts into 24 blocks, and shows the blocks.
pub fn blocks(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let mut engine = engine(scene);
    let prompts = (0..TEXTS.len()).map(|index| prompt(scene, index));
    let prompts = prompts.collect::<anyhow::Result<Vec<_>>>()?;
    let new_tokens = TEXTS.map(|text| scene.tokens.unwrap_or(text.2).min(LONGEST / 2));
    slots(story, &prompts, &new_tokens);
    story.say_as(
        Tone::Dim,
        "letter: the text that holds the block · number: how many texts hold it · °: free, its content can still be \
         found · dot: free",
    );
    story.say("");
    let (mut ids, mut outputs) = (Vec::new(), BTreeMap::new());
    let (mut before, mut shown, mut lines) = (BlockStats::default(), String::new(), Vec::new());
    for step in 0.. {
        let mut notes: Vec<String> = Vec::new();
        for (index, _) in TEXTS.iter().enumerate().filter(|(_, text)| text.0 == step) {
            let sharing = Sharing {
                parent: (index == 1).then_some(SeqId(0)),
                ..Sharing::default()
            };
            ids.push(engine.submit_with(&prompts[index], new_tokens[index], sharing)?);
            notes.push(format!("{} comes", name(SeqId(index as u64))));
        }
        let mut left = Vec::new();
        engine.step(&mut |event| {
            if let Event::Finished { id, output, .. } = event {
                outputs.insert(id, output.to_vec());
                left.push(format!("{} leaves", name(id)));
            }
            Delivery::Taken
        })?;
        let now = engine.memory.stats();
        for (count, what) in [
            (now.forked - before.forked, "tokens shared"),
            (now.prefix_hits - before.prefix_hits, "tokens found"),
            (now.copies - before.copies, "copied"),
            (now.evictions - before.evictions, "evicted"),
        ] {
            notes.extend((count > 0).then(|| format!("{count} {what}")));
        }
        notes.extend(left);
        before = now;
        let map = map(&engine.memory, &ids);
        if map != shown || !notes.is_empty() {
            let note = story.paint(Tone::Dim, &term::cut(&notes.join(", "), 40));
            let painted = story.paint(Tone::Accent, &map);
            story.print(format!("   {:>3}  {painted}  {note}\n", step + 1));
            lines.push(map.clone());
            // Slow enough to be watched: by itself all of it is over in a blink.
            story.linger(WATCHED);
        }
        shown = map;
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
        story.say(format!("{}  … {}", name(*id), text.replace('\n', " ").trim()));
    }
    story.values("maps", &lines);
    story.values("stats", before);
    Ok(())
}

/// The block map: a sign for each block, in groups of four.
fn map(blocks: &BlockManager, ids: &[SeqId]) -> String {
    let sign = |index: usize| {
        let block = BlockId(index as u32);
        let holds = |id: &&SeqId| blocks.table(**id).is_some_and(|table| table.blocks.contains(&block));
        match blocks.allocator().ref_count(block) {
            0 if blocks.prefix().is_some_and(|p| p.is_published(block)) => '°',
            0 => '·',
            1 => ids.iter().find(holds).map_or('?', |id| name(*id)),
            count => char::from_digit(count, 10).unwrap_or('+'),
        }
    };
    let signs: Vec<char> = (0..blocks.allocator().num_blocks()).map(sign).collect();
    let groups: Vec<String> = signs.chunks(4).map(|group| group.iter().collect()).collect();
    groups.join(" ")
}

/// `A` for the first request.
fn name(id: SeqId) -> char {
    char::from(b'A' + (id.0 % 26) as u8)
}
