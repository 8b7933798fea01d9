//! One small task for each function that a reader can write: what it costs is counted, yours beside the reference's.

use crate::block::{Block, BlockId, FreeList};
use crate::exercises::allocate::allocate;
use crate::exercises::attend::attend_blocks;
use crate::exercises::chain::match_prefix;
use crate::exercises::hits::usable_blocks;
use crate::exercises::place::block_place;
use crate::hash::{Before, Salt};
use crate::prefix::PrefixIndex;
use lab::cost::Task;
use std::hint::black_box;
use training::TokenId;

/// Positions of a block in all tasks.
const BLOCK: usize = 16;

/// The tasks. Nothing here need allocate once it has run.
pub fn tasks() -> Vec<Task> {
    vec![places(), allocation(), attention(), matches(), hits()]
}

/// Blocks in an order in which no two neighbours in memory follow each other.
fn scattered(count: u32) -> Vec<BlockId> {
    (0..count).map(|i| BlockId(i * 5 % count)).collect()
}

fn places() -> Task {
    let table = scattered(64);
    Task::new("10.1", "1024 positions", move || {
        for position in 0..64 * BLOCK {
            black_box(block_place(&table, BLOCK, black_box(position)));
        }
    })
}

/// All blocks on the free list.
fn all_free(count: u32) -> (Vec<Block>, FreeList) {
    let (mut blocks, mut free) = (vec![Block::default(); count as usize], FreeList::default());
    for id in (0..count).map(BlockId) {
        free.push_back(&mut blocks, id);
    }
    (blocks, free)
}

fn allocation() -> Task {
    let (mut blocks, mut free) = all_free(1024);
    let mut taken = Vec::with_capacity(1024);
    Task::new("10.2", "eight times five of 1024 blocks", move || {
        for _ in 0..8 {
            allocate(&mut blocks, &mut free, 5, &mut taken);
        }
        // Back again, for the next time.
        for id in taken.drain(..) {
            blocks[id.index()].ref_count = 0;
            free.push_back(&mut blocks, id);
        }
    })
}

fn attention() -> Task {
    let (group, head_dim, context_len) = (2, 32, 500);
    let table = scattered(32);
    let floats = |count: usize| (0..count).map(|i| (i % 61) as f32 / 61.0).collect::<Vec<_>>();
    let (q, kv) = (floats(group * head_dim), floats(32 * BLOCK * head_dim));
    let (mut scores, mut out) = (vec![0.0; group * context_len], vec![0.0; group * head_dim]);
    Task::new("10.3", "two heads over 500 positions", move || {
        attend_blocks(
            &q,
            &kv,
            &kv,
            &table,
            BLOCK,
            head_dim,
            context_len,
            &mut scores,
            &mut out,
        );
        black_box(&out);
    })
}

/// An index in which the full blocks of a text are published.
fn published(text: &[TokenId]) -> PrefixIndex {
    let mut index = PrefixIndex::new(64, BLOCK);
    let mut before = Before::Nothing(Salt::default());
    for (block, tokens) in text.chunks_exact(BLOCK).enumerate() {
        let block = BlockId(block as u32);
        for (place, token) in tokens.iter().enumerate() {
            index.note_token(block, place, *token);
        }
        before = Before::Block(index.publish(block, before));
    }
    index
}

fn matches() -> Task {
    let text: Vec<TokenId> = (0..40 * BLOCK as u32).map(TokenId).collect();
    let index = published(&text[..32 * BLOCK]);
    let (mut blocks, mut names) = (Vec::with_capacity(64), Vec::with_capacity(64));
    Task::new("10.4", "40 blocks, 32 of them published", move || {
        blocks.clear();
        names.clear();
        match_prefix(&index, Salt::default(), &text, BLOCK, &mut blocks, &mut names);
        black_box(&blocks);
    })
}

fn hits() -> Task {
    Task::new("10.5", "every length up to 1024", || {
        for num_tokens in 1..=1024 {
            black_box(usable_blocks(black_box(64), num_tokens, BLOCK));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::ledger;

    /// What the ledger says of the reference: a block that is taken is written, and so is the one behind it; a match
    /// hashes one block more than it finds.
    #[test]
    fn the_tasks_count_what_the_lesson_says() {
        let counted = |mut task: Task| {
            (task.work)();
            ledger::measure(|| (task.work)()).1
        };
        assert_eq!(counted(matches()).get("blocks_hashed"), 33);
        assert_eq!(counted(allocation()).get("blocks_touched"), 40 * 2 + 40 * 2);
    }

    #[test]
    fn every_task_runs_again_and_again() {
        for mut task in tasks() {
            (task.work)();
            (task.work)();
        }
    }
}
