//! Blocks change where keys and values lie, and no bit of the results: attention through a table, logits and whole
//! answers equal those of one piece of memory.

use crate::common::{fixture_models, random, text};
use continuous_batching::oracle::listener::Listener;
use continuous_batching::oracle::single::Single;
use continuous_batching::{Batch, BatchSequence, Engine, EngineLimits, FirstCome, Memory, ModelRunner, Request, SeqId};
use generation::attention::{ATTENTION_ROWS, Attending};
use generation::kernels::attend_row;
use generation::{Model, State};
use layout::pool::Pool;
use paged_cache::exercises::attend::attend_blocks;
use paged_cache::together::attend_sequence;
use paged_cache::{BlockId, BlockManager, PagedCache, Sharing};
use training::TokenId;

/// Block sizes: the smallest, one that divides nothing, and two usual ones.
const BLOCK_SIZES: [usize; 4] = [1, 3, 16, 64];

/// The same keys and values in one piece, and in blocks in no order whose other places hold NaN.
struct Kv {
    whole: [Vec<f32>; 2],
    blocks: [Vec<f32>; 2],
    table: Vec<BlockId>,
}

fn kv(block_size: usize, context_len: usize, head_dim: usize) -> Kv {
    let num_blocks = context_len.div_ceil(block_size) + 2;
    // Every second number, then the others: neighbours in the table are not always neighbours in memory.
    let mut table: Vec<BlockId> = (0..num_blocks as u32).step_by(2).map(BlockId).collect();
    table.extend((1..num_blocks as u32).step_by(2).map(BlockId));
    let whole = [1, 2].map(|seed| random(context_len * head_dim, seed));
    let blocks = whole.each_ref().map(|whole| {
        let mut blocks = vec![f32::NAN; num_blocks * block_size * head_dim];
        for (position, numbers) in whole.chunks_exact(head_dim).enumerate() {
            let block = table[position / block_size].index() * block_size + position % block_size;
            blocks[block * head_dim..][..head_dim].copy_from_slice(numbers);
        }
        blocks
    });
    Kv { whole, blocks, table }
}

/// A row over keys in one piece.
fn attend_whole(kv: &Kv, q: &[f32], context_len: usize, head_dim: usize) -> Vec<f32> {
    let group_size = q.len() / head_dim;
    let mut scores = vec![0.0; group_size * context_len];
    let mut out = vec![0.0; q.len()];
    attend_row(
        q,
        &kv.whole[0],
        &kv.whole[1],
        head_dim,
        context_len,
        group_size,
        1,
        head_dim,
        &mut scores,
        &mut out,
    );
    out
}

#[track_caller]
fn check_attention(block_size: usize, context_len: usize, group_size: usize, head_dim: usize) {
    let kv = kv(block_size, context_len, head_dim);
    let q = random(group_size * head_dim, 3);
    let mut scores = vec![0.0; group_size * context_len];
    let mut paged = vec![f32::NAN; q.len()];
    attend_blocks(
        &q,
        &kv.blocks[0],
        &kv.blocks[1],
        &kv.table,
        block_size,
        head_dim,
        context_len,
        &mut scores,
        &mut paged,
    );
    assert_eq!(
        attend_whole(&kv, &q, context_len, head_dim),
        paged,
        "{context_len} positions in blocks of {block_size}, {group_size} heads of {head_dim}"
    );
}

/// The last rows of a text, up to eight, in one call.
#[track_caller]
fn check_rows(block_size: usize, longest: usize, group_size: usize, head_dim: usize) {
    let kv = kv(block_size, longest, head_dim);
    for num_rows in 1..=longest.min(ATTENTION_ROWS) {
        let queries = random(num_rows * group_size * head_dim, 3);
        let queries = queries.chunks_exact(group_size * head_dim);
        let mut outs = vec![vec![f32::NAN; group_size * head_dim]; num_rows];
        let mut rows: Vec<Attending<'_>> = queries
            .zip(&mut outs)
            .enumerate()
            .map(|(row, (q, out))| Attending {
                row,
                context_len: longest - num_rows + 1 + row,
                q,
                out,
            })
            .collect();
        let mut scores = vec![f32::NAN; num_rows * group_size * longest];
        attend_sequence(
            &mut rows,
            &kv.blocks[0],
            &kv.blocks[1],
            &kv.table,
            block_size,
            head_dim,
            &mut scores,
        );
        for row in &rows {
            assert_eq!(
                attend_whole(&kv, row.q, row.context_len, head_dim),
                row.out,
                "row {} of {num_rows}, {longest} positions in blocks of {block_size}, {group_size} heads of {head_dim}",
                row.row
            );
        }
    }
}

#[test]
fn attention_through_a_table_has_the_bits_of_one_piece() {
    for block_size in BLOCK_SIZES {
        for context_len in [1, 2, 3, 15, 16, 17, 63, 64, 65, 200] {
            for (group_size, head_dim) in [(1, 8), (2, 32), (3, 64), (8, 17)] {
                check_attention(block_size, context_len, group_size, head_dim);
                check_rows(block_size, context_len, group_size, head_dim);
            }
        }
    }
}

/// The next chunk of a request, whose last row's logits are wanted. Memory for it is taken.
fn chunk(blocks: &mut BlockManager, request: &Request, end: usize) -> Batch {
    assert!(Memory::<()>::grow(blocks, request.id, end));
    let mut batch = Batch::default();
    let rows = request.num_computed..end;
    batch.tokens.extend(request.tokens().skip(rows.start).take(rows.len()));
    batch.sequences.push(BatchSequence {
        id: request.id,
        first_row: 0,
        num_rows: rows.len(),
        wants_logits: true,
    });
    batch.positions.extend(rows);
    Memory::<()>::complete(blocks, &mut batch);
    batch
}

/// Two texts in turn, each in chunks, through blocks; after each chunk the logits are those of one pass of lesson 06
/// over the text so far.
#[track_caller]
fn check_logits(model: &Model, block_size: usize, len: usize) {
    let single = Single::new(model);
    let pool = Pool::new(2);
    let num_blocks = 2 * len.div_ceil(block_size);
    let mut blocks = BlockManager::new(num_blocks, block_size, len);
    let mut cache = PagedCache::new(&model.config.llama, num_blocks, block_size);
    let mut state = State::new(&model.config, 0);
    let mut requests = [1, 2].map(|seed| Request::new(SeqId(seed), &text(model, len, seed as u32), 0, len));
    for request in &mut requests {
        assert_eq!(blocks.admit(request), continuous_batching::Admission::Admitted);
    }
    cache.overwrite_unused(&blocks, f32::NAN);
    let mut first = 0;
    for rows in [1, 5, 1, 2, 64].into_iter().cycle() {
        let end = (first + rows).min(len);
        for request in &mut requests {
            let batch = chunk(&mut blocks, request, end);
            let (config, weights) = (&model.config, &model.weights);
            let logits = continuous_batching::forward::forward(config, weights, &mut state, &mut cache, &pool, &batch);
            let expected = single.logits(&request.prompt[..end]);
            assert_eq!(
                logits.unwrap(),
                expected,
                "{}: positions {first} to {end} in blocks of {block_size}",
                model.name
            );
            request.num_computed = end;
            blocks.note_computed(request);
            Memory::<()>::check_invariants(&blocks);
        }
        first = end;
        if first == len {
            break;
        }
    }
}

#[test]
fn logits_over_blocks_have_the_bits_of_lesson_06() {
    for model in fixture_models() {
        for block_size in BLOCK_SIZES {
            check_logits(&model, block_size, 23);
        }
    }
}

/// All of these requests at once over blocks, twice: the second time their prompts are there. Returns tokens that were
/// hit.
#[track_caller]
fn check_answers(model: &Model, block_size: usize, prompts: &[Vec<TokenId>], max_new: usize) -> u64 {
    let longest = prompts.iter().map(Vec::len).max().unwrap_or(0) + max_new;
    let max_seq_len = longest.min(model.config.llama.max_seq_len);
    let pool = Pool::new(2);
    let num_blocks = prompts.len() * max_seq_len.div_ceil(block_size);
    let blocks = BlockManager::new(num_blocks, block_size, max_seq_len);
    let cache = PagedCache::new(&model.config.llama, num_blocks, block_size);
    let runner = ModelRunner::new(model, &pool, cache, prompts.len(), max_seq_len);
    let limits = EngineLimits::of_model(&model.config, prompts.len());
    let mut engine = Engine::new(runner, blocks, limits);
    let single = Single::new(model);
    for round in 0..2 {
        let mut listener = Listener::default();
        let ids: Vec<SeqId> = prompts
            .iter()
            .map(|prompt| engine.submit(prompt, max_new).unwrap())
            .collect();
        while !engine.is_idle() {
            engine.step(&mut |event| listener.take(event)).unwrap();
            engine.check_invariants();
            engine.runner.cache.overwrite_unused(&engine.memory, f32::NAN);
        }
        for (id, prompt) in ids.iter().zip(prompts) {
            let expected = single.answer(prompt, max_new, max_seq_len);
            let found = (listener.tokens[id].clone(), listener.ends[id]);
            assert_eq!(
                found,
                expected,
                "{}: prompt of {} in blocks of {block_size}, round {round}",
                model.name,
                prompt.len()
            );
        }
        assert_eq!(engine.memory.num_held(), 0);
    }
    engine.memory.stats().prefix_hits
}

/// Prompt lengths on both sides of every border: a whole number of blocks, one more, one less.
#[test]
fn answers_equal_single_runs_at_every_border_and_with_hits() {
    for model in fixture_models() {
        for block_size in BLOCK_SIZES {
            let lengths = [1, 2, block_size.max(2) - 1, block_size, block_size + 1, 2 * block_size];
            let most = model.config.llama.max_seq_len - 6;
            let lengths = lengths.into_iter().filter(|len| (1..=most).contains(len));
            let prompts: Vec<Vec<TokenId>> = lengths
                .enumerate()
                .map(|(i, len)| text(&model, len, i as u32))
                .collect();
            let hits = check_answers(&model, block_size, &prompts, 6);
            let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
            assert!(
                hits > 0 || longest <= block_size,
                "{}: blocks of {block_size} were never used again",
                model.name
            );
        }
    }
}

#[test]
fn the_trained_model_answers_alike_over_blocks() {
    let model = Model::open("stories").unwrap();
    let prompts: Vec<Vec<TokenId>> = [5, 16, 17, 32, 33, 40]
        .into_iter()
        .map(|len| text(&model, len, 0))
        .collect();
    // All prompts are beginnings of one text. In the first round they join at once and nothing is there yet; in the
    // second, all full blocks are, but of 16 and 32 tokens the last block is computed again for its logits: 0 + 0 +
    // 16 + 16 + 32 + 32.
    let hits = check_answers(&model, 16, &prompts, 12);
    assert_eq!(hits, 96);
}

/// Answers to one prompt: the first one computes it, the others share its blocks and get a copy of the last one.
#[test]
fn several_answers_to_one_prompt_share_it_and_stay_right() {
    let model = Model::open("stories").unwrap();
    let single = Single::new(&model);
    let pool = Pool::new(2);
    for (block_size, len) in [(16, 24), (16, 32), (1, 9), (7, 20)] {
        let prompt = text(&model, len, 3);
        let blocks = BlockManager::new(64, block_size, 48).without_prefix_cache();
        let cache = PagedCache::new(&model.config.llama, 64, block_size);
        let runner = ModelRunner::new(&model, &pool, cache, 4, 48);
        let limits = EngineLimits::of_model(&model.config, 4);
        let mut engine = Engine::with(runner, blocks, FirstCome, limits);
        let mut listener = Listener::default();
        let first = engine.submit_with(&prompt, 5, Sharing::default()).unwrap();
        let others: Vec<SeqId> = [10, 15, 8]
            .into_iter()
            .map(|max_new| {
                let sharing = Sharing {
                    parent: Some(first),
                    ..Sharing::default()
                };
                engine.submit_with(&prompt, max_new, sharing).unwrap()
            })
            .collect();
        while !engine.is_idle() {
            engine.step(&mut |event| listener.take(event)).unwrap();
            engine.check_invariants();
            engine.runner.cache.overwrite_unused(&engine.memory, f32::NAN);
        }
        for (id, max_new) in others.iter().zip([10, 15, 8]) {
            let (tokens, end) = single.answer(&prompt, max_new, 48);
            assert_eq!((&listener.tokens[id], listener.ends[id]), (&tokens, end));
        }
        let stats = engine.memory.stats();
        assert_eq!(stats.forked, 3 * (len - 1) as u64, "blocks of {block_size}");
        // Nothing is copied where the last token of the prompt stands first in its block.
        let copies = if (len - 1) % block_size == 0 { 0 } else { 3 };
        assert_eq!(stats.copies, copies, "blocks of {block_size}");
        assert_eq!(engine.memory.num_held(), 0);
    }
}
