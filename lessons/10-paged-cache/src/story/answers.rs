//! Several answers to one prompt: its blocks are held once, and the last one is copied for each further answer.

use super::{BLOCK_SIZE, Scene};
use continuous_batching::{Delivery, SeqId};
use generation::generate::greedy;
use lab::ledger;
use lab::number;
use lab::story::Story;
use lab::table::Table;
use paged_cache::{BlockManager, Sharing};

/// Tokens of each answer.
const NEW_TOKENS: usize = 20;

/// Whether the answers take over the first one's prompt.
#[derive(Clone, Copy, PartialEq)]
enum Prompt {
    Own,
    Shared,
}

/// What some answers cost.
struct Cost {
    most_blocks: usize,
    copies: u64,
    rows: u64,
    different: usize,
}

/// Answers to one prompt: answer `i` begins with the token that is i-th best. Content is not shared, so that only the
/// fork is counted.
fn answers(scene: &Scene, count: usize, prompt_tokens: usize, prompt: Prompt) -> anyhow::Result<Cost> {
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
        let sharing = Sharing {
            parent: (prompt == Prompt::Shared && index > 0).then_some(SeqId(0)),
            ..Sharing::default()
        };
        engine.submit_with(&tokens, NEW_TOKENS, sharing)?;
    }
    let (mut most_blocks, mut outputs) = (0, Vec::new());
    let (done, counted) = ledger::measure(|| {
        while !engine.is_idle() {
            engine.step(&mut |event| {
                if let continuous_batching::Event::Finished { output, .. } = event {
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
    story.step(
        "Several answers to one prompt",
        "Each answer needs the keys of the same prompt. The answers share its full blocks; each gets a copy of the last block, into which it will write.",
    );
    let prompt_tokens = (scene.context() / 4).min(100);
    let mut table = Table::new(&[
        "answers",
        "slots (08)",
        "blocks, own",
        "shared",
        "copied",
        "rows: own",
        "shared",
    ]);
    let mut shares = Vec::new();
    for count in [1, 2, 4, 8] {
        let own = answers(scene, count, prompt_tokens, Prompt::Own)?;
        let shared = answers(scene, count, prompt_tokens, Prompt::Shared)?;
        anyhow::ensure!(own.different == shared.different, "an answer differs");
        let bytes = |blocks: usize| number::bytes(scene.bytes(blocks * BLOCK_SIZE));
        table.row([
            count.to_string(),
            number::bytes(scene.bytes(count * scene.context())),
            bytes(own.most_blocks),
            bytes(shared.most_blocks),
            shared.copies.to_string(),
            own.rows.to_string(),
            shared.rows.to_string(),
        ]);
        shares.push((count, own.most_blocks, shared.most_blocks));
    }
    story.table(&table);
    story.values("blocks", &shares);
    story.say(format!(
        "A prompt of {prompt_tokens} tokens, {NEW_TOKENS} new ones each. One block is copied for each answer but one: the last of the prompt, in which all go on.",
    ));
    Ok(())
}
