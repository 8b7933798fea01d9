//! Several answers to one prompt: its blocks are held once, and the last one is copied for each further answer.

use super::{BLOCK_SIZE, Scene};
use continuous_batching::{Delivery, Event, SeqId};
use generation::generate::greedy;
use lab::ledger;
use lab::number;
use lab::story::Story;
use paged_cache::{BlockManager, Sharing};

/// Number of tokens of each answer.
const NEW_TOKENS: usize = 20;

/// What some answers cost.
struct Cost {
    most_blocks: usize,
    copies: u64,
    rows: u64,
    /// Number of answers that are different.
    different: usize,
}

/// Answers to one prompt: answer `i` begins with the token that is i-th best. All but the first name the first as their
/// `parent`, or none does. Content is not shared, so that only the fork is counted.
fn answers(scene: &Scene, count: usize, prompt_tokens: usize, parent: Option<SeqId>) -> anyhow::Result<Cost> {
    let blocks_each = (prompt_tokens + NEW_TOKENS).div_ceil(BLOCK_SIZE);
    let blocks = BlockManager::new((count + 1) * blocks_each, BLOCK_SIZE, scene.context()).without_prefix_cache();
    let mut engine = scene.engine(blocks, count).with_choice(Box::new(|request, logits| {
        let skipped = if request.output.is_empty() { request.id.0 } else { 0 };
        for _ in 0..skipped {
            let best = greedy(logits)?;
            logits[best.index()] = f32::NEG_INFINITY;
        }
        greedy(logits)
    }));
    let tokens = scene.model.made_up_tokens(3, prompt_tokens);
    for index in 0..count {
        let parent = parent.filter(|_| index > 0);
        let sharing = Sharing {
            parent,
            ..Sharing::default()
        };
        engine.submit_with(&tokens, NEW_TOKENS, sharing)?;
    }
    let (mut most_blocks, mut outputs) = (0, Vec::new());
    let (done, counted) = ledger::measure(|| {
        while !engine.is_idle() {
            engine.step(&mut |event| {
                if let Event::Finished { output, .. } = event {
                    outputs.push(output.to_vec());
                }
                Delivery::Taken
            })?;
            most_blocks = most_blocks.max(engine.memory.num_held());
        }
        anyhow::Ok(())
    });
    done?;
    outputs.sort();
    outputs.dedup();
    Ok(Cost {
        most_blocks,
        copies: engine.memory.stats().copies,
        rows: counted.get("positions"),
        different: outputs.len(),
    })
}

/// Memory and rows of 1 to 8 answers.
pub fn count(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let prompt_tokens = (scene.context() / 4).min(100);
    story.step(
        "Several answers to one prompt",
        &format!(
            "A prompt of {prompt_tokens} tokens, {NEW_TOKENS} new ones each. The answers share the full blocks of the \
             prompt. Each but the first gets a copy of the last block, into which it will write."
        ),
    );
    let (mut rows, mut shares) = (Vec::new(), Vec::new());
    for count in [1, 2, 4, 8] {
        let own = answers(scene, count, prompt_tokens, None)?;
        let shared = answers(scene, count, prompt_tokens, Some(SeqId(0)))?;
        anyhow::ensure!(own.different == shared.different, "an answer differs");
        let bytes = |positions: usize| number::bytes(scene.bytes(positions));
        rows.push([
            count.to_string(),
            bytes(count * scene.context()),
            bytes(own.most_blocks * BLOCK_SIZE),
            bytes(shared.most_blocks * BLOCK_SIZE),
            shared.copies.to_string(),
            own.rows.to_string(),
            shared.rows.to_string(),
        ]);
        shares.push((count, own.most_blocks, shared.most_blocks));
    }
    let head = [
        "answers",
        "slots (08)",
        "blocks, own",
        "shared",
        "copied",
        "rows: own",
        "shared",
    ];
    story.rows(&head, rows);
    story.values("blocks", &shares);
    Ok(())
}
