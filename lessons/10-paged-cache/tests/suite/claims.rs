//! What the lesson claims, as counts.

use crate::common::{random, text};
use continuous_batching::slots::Slots;
use continuous_batching::{Delivery, Engine, EngineLimits, FirstCome, ModelRunner, SeqId};
use generation::Model;
use lab::alloc::with_budget;
use lab::ledger;
use layout::pool::Pool;
use paged_cache::ahead::attend_ahead;
use paged_cache::allocator::BlockAllocator;
use paged_cache::exercises::attend::attend_blocks;
use paged_cache::pieces::pieces;
use paged_cache::regions::Regions;
use paged_cache::reserve::reserve;
use paged_cache::scan::ScanningAllocator;
use paged_cache::ways::{Text, serve};
use paged_cache::{BlockId, BlockManager, PagedCache, Sharing};

/// Texts of many lengths: short prompts and long ones.
fn texts() -> Vec<Text> {
    let text = |i: usize| Text {
        prompt_tokens: 20 + i * i * 37 % 400,
        new_tokens: 1 + i * 53 % 90,
    };
    (0..120).map(text).collect()
}

/// P1: the use of blocks depends on the length of a text over that of a block: pages of 256 are 31 % full at about 80
/// tokens (each text lies in one page), and over 90 % full at 5120.
#[test]
fn use_depends_on_length_over_block() {
    let used = |new_tokens: usize, size: usize| {
        let text = |i: usize| Text {
            prompt_tokens: new_tokens - 31 + i,
            new_tokens: 1,
        };
        let texts: Vec<Text> = (0..64).map(text).collect();
        let mut blocks = BlockManager::new(64 * 8192 / size, size, 8192).without_prefix_cache();
        let (run, _) = serve(&mut blocks, &texts, 64);
        run.mean_usage(1)
    };
    for (tokens, size, expected) in [(80, 16, 0.91), (80, 256, 0.32), (5120, 256, 0.975), (40, 16, 0.84)] {
        let found = used(tokens, size);
        assert!(
            (found - expected).abs() < 0.02,
            "{tokens} tokens, blocks of {size}: {found}"
        );
    }
}

/// P1: what is held and used, in slots, in pieces that grow, in blocks.
#[test]
fn blocks_are_used_where_slots_and_growing_pieces_are_wasted() {
    const MEMORY: usize = 8192;
    let (run, crowded) = serve(&mut Slots::new(MEMORY / 2048, 2048), &texts(), 64);
    let slots = run.mean_usage(crowded);
    let mut regions = Regions::new(MEMORY, 2048);
    let (run, crowded) = serve(&mut regions, &texts(), 64);
    let grown = run.mean_usage(crowded);
    regions.check_invariants();
    assert!(regions.moved() > 0, "a region that grows is copied");
    assert!(run.samples.iter().any(|sample| sample.lost > 0), "holes of no use");
    let mut blocks_of_16 = BlockManager::new(MEMORY / 16, 16, 2048).without_prefix_cache();
    let (run, crowded) = serve(&mut blocks_of_16, &texts(), 64);
    let blocks = run.mean_usage(crowded);
    assert!(slots < 0.25 && grown < 0.8 && blocks > 0.9, "{slots} {grown} {blocks}");
    assert_eq!(blocks_of_16.num_held(), 0);
    assert_eq!(regions.num_held(), 0);
}

/// P2: entries of the list that are touched to take a block and to give it back, whatever the number of blocks; the
/// search looks at all that are held.
#[test]
fn taking_a_block_costs_the_same_among_many() {
    let counted = |num_blocks: usize| {
        let mut list = BlockAllocator::new(num_blocks);
        let mut held = Vec::new();
        list.allocate(num_blocks - 2, &mut held);
        let mut scan = ScanningAllocator::new(num_blocks);
        (0..num_blocks - 2).for_each(|_| {
            scan.allocate();
        });
        let (looks, mut taken) = (scan.num_looks(), Vec::new());
        let (_, counted) = ledger::measure(|| {
            list.allocate(1, &mut taken);
            list.free(taken[0]);
        });
        scan.allocate();
        (counted.get("blocks_touched"), scan.num_looks() - looks)
    };
    assert_eq!(counted(16), (4, 15));
    assert_eq!(counted(10_000), (4, 9999));
}

/// P3: rows that are computed of a prompt that begins as an earlier one did.
#[test]
fn a_shared_prefix_is_computed_once() {
    let model = Model::open("stories").unwrap();
    let pool = Pool::new(1);
    let cache = PagedCache::new(&model.config.llama, 32, 4);
    let runner = ModelRunner::new(&model, &pool, cache, 2, 64);
    let blocks = BlockManager::new(32, 4, 64);
    let mut engine = Engine::new(runner, blocks, EngineLimits::of_model(&model.config, 2));
    let mut rows = |len: usize| {
        engine.submit(&text(&model, len, 4), 1).unwrap();
        let (done, counted) = ledger::measure(|| engine.run(&mut |_| Delivery::Taken));
        done.unwrap();
        counted.get("positions")
    };
    assert_eq!(rows(18), 18);
    // 16 are found.
    assert_eq!(rows(21), 5);
    // All four or five blocks are there; the last one is given back where nothing else would be left.
    assert_eq!(rows(16), 4);
    assert_eq!(rows(17), 1);
    let stats = engine.memory.stats();
    assert_eq!(
        (stats.prefix_queries, stats.prefix_hits),
        (18 + 21 + 16 + 17, 16 + 12 + 16)
    );
    assert!((stats.hit_rate() - 44.0 / 72.0).abs() < 1e-12);
}

/// P4: sixteen texts of up to 4096 tokens in a quarter of the room that sixteen slots take.
#[test]
fn what_slots_can_not_hold_is_served_in_blocks() {
    const ROOM: usize = 16 * 4096 / 4;
    let texts: Vec<Text> = (0..48)
        .map(|i| Text {
            prompt_tokens: 100 + i * i * 97 % 2500,
            new_tokens: 1 + i * 41 % 200,
        })
        .collect();
    let (few, _) = serve(&mut Slots::new(ROOM / 4096, 4096), &texts, 16);
    let mut blocks_of_16 = BlockManager::new(ROOM / 16, 16, 4096).without_prefix_cache();
    let (many, _) = serve(&mut blocks_of_16, &texts, 16);
    assert_eq!(few.most_running(), 4);
    assert!(
        many.most_running() > 8 && many.most_held() <= ROOM,
        "{}",
        many.most_running()
    );
    assert!(many.samples.len() * 2 < few.samples.len());
}

/// P4: the memory of sixteen slots does not fit the budget, and the allocator refuses it; that of the blocks fits.
#[test]
fn an_allocation_beyond_the_budget_is_refused() {
    const EACH: u64 = 1024;
    let error = with_budget(256 << 20, || reserve(16 * 4096 * 8, EACH)).unwrap_err();
    assert_eq!((error.positions, error.bytes), (524_288, 512 << 20));
    insta::assert_snapshot!(error.to_string(), @"keys and values of 524288 positions: expected room for 512 MiB, and the allocation was refused; take fewer or shorter slots, or blocks");
    let memory = with_budget(256 << 20, || reserve(4 * 4096, EACH)).unwrap();
    assert!(memory.capacity() >= 16 << 20);
    // Without a budget the same memory is given.
    assert!(reserve(16 * 4096 * 8, EACH).is_ok());
}

/// Several answers hold the prompt once, and copy one block for each but the first.
#[test]
fn answers_share_the_blocks_of_their_prompt() {
    let model = Model::open("stories").unwrap();
    let pool = Pool::new(1);
    let cache = PagedCache::new(&model.config.llama, 64, 4);
    let runner = ModelRunner::new(&model, &pool, cache, 4, 64);
    let blocks = BlockManager::new(64, 4, 64).without_prefix_cache();
    let mut engine = Engine::with(runner, blocks, FirstCome, EngineLimits::of_model(&model.config, 4));
    engine.limits.end_of_text.clear();
    for answer in 0..4 {
        let sharing = Sharing {
            parent: (answer > 0).then_some(SeqId(0)),
            ..Sharing::default()
        };
        engine.submit_with(&text(&model, 18, 4), 3, sharing).unwrap();
    }
    let mut most = 0;
    let (_, counted) = ledger::measure(|| {
        while !engine.is_idle() {
            engine.step(&mut |_| Delivery::Taken).unwrap();
            most = most.max(engine.memory.num_held());
        }
    });
    // Four full blocks for all, and one of its own for each.
    assert_eq!(most, 4 + 4);
    assert_eq!(counted.get("blocks_copied"), 3);
    // The prompt once, its last row once more for each of the others, and two tokens more for each.
    assert_eq!(counted.get("positions"), 18 + 3 + 4 * 2);
}

/// Either way to attend through a table.
type Attend = fn(&[f32], &[f32], &[f32], &[BlockId], usize, usize, usize, &mut [f32], &mut [f32]);

/// Rows that decode ask for what comes next: no bit changes.
#[test]
fn asking_ahead_changes_no_bit() {
    for (block_size, context_len) in [(1usize, 9usize), (3, 10), (16, 16), (16, 200), (64, 130), (256, 200)] {
        let (group, head_dim, num_blocks) = (3, 24, 16);
        let kv = random(num_blocks * block_size.max(16) * head_dim, 5);
        let table: Vec<BlockId> = [3, 4, 5, 0, 9, 8, 10, 11, 1, 2, 6, 7, 15].map(BlockId).into();
        assert!(table.len() >= context_len.div_ceil(block_size));
        let q = random(group * head_dim, 6);
        let run = |attend: Attend| {
            let (mut scores, mut out) = (vec![0.0; group * context_len], vec![9.0; group * head_dim]);
            attend(
                &q,
                &kv,
                &kv,
                &table,
                block_size,
                head_dim,
                context_len,
                &mut scores,
                &mut out,
            );
            out
        };
        assert!(run(attend_ahead) == run(attend_blocks), "{block_size}, {context_len}");
    }
}

/// Neighbours in the table that are neighbours in memory are one piece, up to 64 positions; all positions are covered
/// once.
#[test]
fn pieces_cover_every_position_once() {
    let lengths = |table: &[u32], block_size: usize, context_len: usize| -> Vec<usize> {
        let table: Vec<BlockId> = table.iter().copied().map(BlockId).collect();
        let mut next = 0;
        pieces(&table, block_size, context_len)
            .map(|piece| {
                assert_eq!(piece.first, next);
                assert_eq!(piece.block, table[piece.first / block_size]);
                next += piece.len;
                piece.len
            })
            .collect()
    };
    assert_eq!(lengths(&[0, 1, 2, 3, 4, 5], 16, 90), [64, 26]);
    assert_eq!(lengths(&[5, 4, 3], 16, 40), [16, 16, 8]);
    assert_eq!(lengths(&[2, 3, 7, 8], 4, 13), [8, 5]);
    assert_eq!(lengths(&[1, 0], 256, 257), [256, 1]);
    assert_eq!(lengths(&[4], 1, 1), [1]);
}

/// A text that fills its region can not grow, and to begin it anew would not change that.
#[test]
#[should_panic(expected = "can not grow even alone")]
fn a_text_that_can_not_grow_alone_ends_the_run() {
    let text = Text {
        prompt_tokens: 4,
        new_tokens: 8,
    };
    serve(&mut Slots::new(1, 8), &[text], 1);
}
