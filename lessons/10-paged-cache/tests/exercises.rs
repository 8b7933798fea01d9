//! What each exercise must do, smallest case first. One group an exercise, each with its own function and nothing that
//! another one writes; `whole` at the end plays all of them together.

use fixtures::expect;
use paged_cache::BlockId;
use training::TokenId;

/// Block numbers.
fn blocks(numbers: &[u32]) -> Vec<BlockId> {
    numbers.iter().copied().map(BlockId).collect()
}

/// Plain numbers, for messages.
fn plain(blocks: &[BlockId]) -> Vec<u32> {
    blocks.iter().map(|block| block.0).collect()
}

/// Token ids.
fn ids(tokens: &[u32]) -> Vec<TokenId> {
    tokens.iter().copied().map(TokenId).collect()
}

/// The options of a question in `course.toml`, and which of them it calls right.
fn question(id: &str) -> (Vec<String>, usize) {
    fixtures::question(include_str!("../course.toml"), id)
}

/// 10.1 Position to block: which block of a table, and where in it.
mod ex_10_1_position_to_block {
    use super::{blocks, expect};
    use paged_cache::BlockId;
    use paged_cache::exercises::place::block_place;

    #[track_caller]
    fn check(table: &[u32], block_size: usize, position: usize, expected: (u32, usize)) {
        let what = format!("table {table:?}, blocks of {block_size}, position {position}");
        let found = block_place(&blocks(table), block_size, position);
        expect(&what, found, (BlockId(expected.0), expected.1));
    }

    #[test]
    fn the_first_position_stands_first_in_the_first_block() {
        check(&[0], 4, 0, (0, 0));
        check(&[0], 4, 3, (0, 3));
    }

    /// Entry 1 of the table is not block 1.
    #[test]
    fn the_table_says_which_block_it_is() {
        check(&[7, 2, 5], 4, 1, (7, 1));
        check(&[7, 2, 5], 4, 5, (2, 1));
        check(&[7, 2, 5], 4, 11, (5, 3));
    }

    /// The first position of each block, and the last one before it.
    #[test]
    fn a_block_begins_where_the_one_before_it_is_full() {
        for block_size in [3, 16] {
            check(&[9, 4], block_size, block_size - 1, (9, block_size - 1));
            check(&[9, 4], block_size, block_size, (4, 0));
            check(&[9, 4], block_size, block_size + 1, (4, 1));
        }
    }

    #[test]
    fn a_block_of_one_position_has_one_place() {
        check(&[3, 1, 2], 1, 2, (2, 0));
    }
}

/// 10.2 All-or-nothing allocation: as many blocks as are asked for, or none.
mod ex_10_2_allocation {
    use super::{blocks, expect, plain};
    use paged_cache::BlockId;
    use paged_cache::block::{Block, FreeList};
    use paged_cache::exercises::allocate::allocate;

    /// `count` blocks, all free, in the order of their numbers.
    fn all_free(count: u32) -> (Vec<Block>, FreeList) {
        let mut all = vec![Block::default(); count as usize];
        let mut free = FreeList::default();
        for id in (0..count).map(BlockId) {
            free.push_back(&mut all, id);
        }
        (all, free)
    }

    /// The free list, first one first.
    fn on_the_list(all: &[Block], free: &FreeList) -> Vec<u32> {
        std::iter::successors(free.first, |id| all[id.index()].next)
            .take(64)
            .map(|id| id.0)
            .collect()
    }

    #[test]
    fn blocks_come_from_the_front_of_the_list() {
        let (mut all, mut free) = all_free(4);
        let mut taken = Vec::new();
        let done = allocate(&mut all, &mut free, 2, &mut taken);
        let what = "2 of 4 free blocks";
        expect(&format!("{what}: done"), done, true);
        expect(&format!("{what}: taken"), plain(&taken), [0, 1]);
        expect(&format!("{what}: still free"), on_the_list(&all, &free), [2, 3]);
        expect(&format!("{what}: length of the list"), free.len, 2usize);
    }

    #[test]
    fn each_gets_its_first_reference() {
        let (mut all, mut free) = all_free(3);
        allocate(&mut all, &mut free, 2, &mut Vec::new());
        let counts: Vec<u32> = all.iter().map(|block| block.ref_count).collect();
        expect("2 of 3 free blocks: reference counts", counts, [1, 1, 0]);
    }

    /// The table that they are appended to holds others already.
    #[test]
    fn what_was_taken_before_stays() {
        let (mut all, mut free) = all_free(3);
        let mut taken = blocks(&[9]);
        allocate(&mut all, &mut free, 2, &mut taken);
        expect("2 more behind block 9: taken", plain(&taken), [9, 0, 1]);
    }

    /// Two of three blocks would be of no use here, and missing elsewhere.
    #[test]
    fn too_few_means_none() {
        let (mut all, mut free) = all_free(2);
        let before = (all.clone(), free);
        let mut taken = Vec::new();
        let done = allocate(&mut all, &mut free, 3, &mut taken);
        let what = "3 of 2 free blocks";
        expect(&format!("{what}: done"), done, false);
        expect(&format!("{what}: taken"), plain(&taken), Vec::<u32>::new());
        expect(&format!("{what}: blocks and list"), (all, free), before);
    }

    #[test]
    fn the_last_block_can_be_had() {
        let (mut all, mut free) = all_free(3);
        let mut taken = Vec::new();
        expect("3 of 3: done", allocate(&mut all, &mut free, 3, &mut taken), true);
        expect("3 of 3: taken", plain(&taken), [0, 1, 2]);
        expect("3 of 3: the list", free, FreeList::default());
        expect("1 of 0: done", allocate(&mut all, &mut free, 1, &mut taken), false);
    }

    #[test]
    fn none_is_always_there() {
        let (mut all, mut free) = all_free(0);
        expect("0 of 0: done", allocate(&mut all, &mut free, 0, &mut Vec::new()), true);
    }

    /// The order of the list is the order in which blocks became free, not that of their numbers.
    #[test]
    fn the_list_decides_and_not_the_number() {
        let mut all = vec![Block::default(); 4];
        let mut free = FreeList::default();
        for id in blocks(&[2, 0, 3, 1]) {
            free.push_back(&mut all, id);
        }
        let mut taken = Vec::new();
        allocate(&mut all, &mut free, 3, &mut taken);
        expect("free since long ago: 2, 0, 3, 1; taken", plain(&taken), [2, 0, 3]);
    }
}

/// 10.3 Attend by table: the bits of attention over the same keys in one piece.
mod ex_10_3_attend_by_table {
    use super::blocks;
    use generation::kernels::attend_row;
    use paged_cache::exercises::attend::attend_blocks;

    /// Numbers that look random.
    fn floats(count: usize, seed: u32) -> Vec<f32> {
        let number = |i: u32| (i.wrapping_mul(2_654_435_761).wrapping_add(seed * 97) >> 8) % 2001;
        (0..count as u32).map(|i| number(i) as f32 / 1000.0 - 1.0).collect()
    }

    /// One case: a text of `context_len` positions in the blocks of `table`, of `num_blocks`; everything that is not
    /// its own is NaN.
    #[track_caller]
    fn check(table: &[u32], num_blocks: usize, block_size: usize, group: usize, head_dim: usize, context_len: usize) {
        let (q, keys, values) = (
            floats(group * head_dim, 1),
            floats(context_len * head_dim, 2),
            floats(context_len * head_dim, 3),
        );
        let mut expected = vec![0.0; group * head_dim];
        let mut scores = vec![0.0; group * context_len];
        attend_row(
            &q,
            &keys,
            &values,
            head_dim,
            context_len,
            group,
            1,
            head_dim,
            &mut scores,
            &mut expected,
        );
        let mut k = vec![f32::NAN; num_blocks * block_size * head_dim];
        let mut v = k.clone();
        for position in 0..context_len {
            let block = table[position / block_size] as usize;
            let place = (block * block_size + position % block_size) * head_dim;
            let from = position * head_dim..(position + 1) * head_dim;
            k[place..][..head_dim].copy_from_slice(&keys[from.clone()]);
            v[place..][..head_dim].copy_from_slice(&values[from]);
        }
        let mut found = vec![7.0; group * head_dim];
        let mut scores = vec![f32::NAN; group * context_len + 3];
        attend_blocks(
            &q,
            &k,
            &v,
            &blocks(table),
            block_size,
            head_dim,
            context_len,
            &mut scores,
            &mut found,
        );
        let what =
            format!("{context_len} positions in blocks {table:?} of {block_size}, {group} query heads of {head_dim}");
        let differs = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits();
        let Some(first) = found.iter().zip(&expected).position(differs) else {
            return;
        };
        let (head, number) = (first / head_dim, first % head_dim);
        let is_close = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-6);
        let how = match is_close {
            true => {
                "right to 1e-6, but in other bits: call `lanes` for one key at a time, in the order of the positions"
            }
            false if found[first].is_nan() => "NaN: a number was read that is not the text's own",
            false => "not close",
        };
        panic!(
            "{what}: output of head {head}, number {number}\n  expected {}\n  found    {} ({how})",
            expected[first], found[first]
        );
    }

    #[test]
    fn one_full_block_is_one_piece() {
        check(&[0], 1, 4, 1, 16, 4);
    }

    #[test]
    fn blocks_are_read_where_the_table_says() {
        check(&[2, 0], 3, 4, 1, 16, 8);
    }

    /// The numbers behind the last position of the last block are left over from another text.
    #[test]
    fn the_rest_of_the_last_block_is_not_seen() {
        for context_len in 1..=12 {
            check(&[1, 4, 2], 5, 4, 1, 16, context_len);
        }
    }

    /// Softmax turns scores into weights that add up to one over the whole text. A softmax for each block adds up to
    /// one for each block.
    #[test]
    fn softmax_sees_all_scores() {
        check(&[3, 1], 4, 2, 1, 16, 4);
        check(&[3, 1, 0, 2], 4, 1, 1, 16, 4);
    }

    /// The scores of a query head are neighbours over the whole text, `context_len` apart from those of the next head,
    /// and not a block's length.
    #[test]
    fn query_heads_of_a_group_keep_their_scores_apart() {
        check(&[0], 1, 4, 3, 16, 4);
        check(&[1, 0], 2, 4, 3, 16, 7);
    }

    #[test]
    fn every_block_size_gives_the_same_bits() {
        for block_size in [1, 3, 16, 64] {
            for context_len in [1, block_size, block_size + 1, 2 * block_size - 1, 3 * block_size] {
                check(&[4, 0, 1], 5, block_size, 2, 32, context_len);
            }
        }
    }

    /// Blocks that happen to lie beside each other, in either order.
    #[test]
    fn neighbours_are_nothing_special() {
        check(&[0, 1, 2, 3, 4, 5], 6, 16, 2, 32, 90);
        check(&[5, 4, 3, 2, 1, 0], 6, 16, 2, 32, 90);
        check(&[2, 3, 1, 4, 5, 0], 6, 16, 2, 24, 81);
    }
}

/// 10.4 The hash chain: which blocks hold the beginning of a text.
mod ex_10_4_hash_chain {
    use super::{blocks, expect, ids, plain};
    use lab::ledger;
    use paged_cache::BlockId;
    use paged_cache::exercises::chain::match_prefix;
    use paged_cache::hash::{Before, BlockHash, Name, Salt};
    use paged_cache::prefix::PrefixIndex;
    use training::TokenId;

    const BLOCK: usize = 2;

    /// Publishes the full blocks of a text, as these numbers; returns the names.
    fn publish(index: &mut PrefixIndex, salt: u64, text: &[u32], numbers: &[u32]) -> Vec<Name> {
        let mut before = Before::Nothing(Salt(salt));
        let mut names = Vec::new();
        for (tokens, number) in text.chunks_exact(BLOCK).zip(numbers) {
            for (place, token) in tokens.iter().enumerate() {
                index.note_token(BlockId(*number), place, TokenId(*token));
            }
            let name = index.publish(BlockId(*number), before);
            names.push(name);
            before = Before::Block(name);
        }
        names
    }

    fn matching(index: &PrefixIndex, salt: u64, text: &[u32]) -> (Vec<u32>, Vec<Name>) {
        let (mut found, mut names) = (Vec::new(), Vec::new());
        match_prefix(index, Salt(salt), &ids(text), BLOCK, &mut found, &mut names);
        (plain(&found), names)
    }

    #[test]
    fn where_nothing_is_published_nothing_matches() {
        let found = matching(&PrefixIndex::new(4, BLOCK), 0, &[1, 2, 3, 4]);
        expect("nothing published: blocks", found.0, Vec::<u32>::new());
        expect("nothing published: names", found.1, Vec::new());
    }

    #[test]
    fn the_blocks_of_the_same_text_match_in_order() {
        let mut index = PrefixIndex::new(8, BLOCK);
        let names = publish(&mut index, 0, &[1, 2, 3, 4, 5, 6], &[5, 0, 3]);
        let found = matching(&index, 0, &[1, 2, 3, 4, 5, 6]);
        expect("text 1 2 | 3 4 | 5 6 in blocks 5, 0, 3: found", found.0, [5, 0, 3]);
        expect("the same: names", found.1, names);
    }

    /// The holder of a block that is not full goes on writing in it.
    #[test]
    fn only_full_blocks_match() {
        let mut index = PrefixIndex::new(8, BLOCK);
        publish(&mut index, 0, &[1, 2, 3, 4], &[5, 0]);
        expect("1 2 | 3 is asked for", matching(&index, 0, &[1, 2, 3]).0, [5]);
        expect("1 is asked for", matching(&index, 0, &[1]).0, Vec::<u32>::new());
        expect(
            "1 2 | 3 4 | 5 is asked for",
            matching(&index, 0, &[1, 2, 3, 4, 5]).0,
            [5, 0],
        );
    }

    /// Keys depend on everything before them: 3 4 behind 1 2 is not 3 4 at the beginning, nor behind 9 9.
    #[test]
    fn equal_tokens_in_another_place_do_not_match() {
        let mut index = PrefixIndex::new(8, BLOCK);
        publish(&mut index, 0, &[1, 2, 3, 4], &[5, 0]);
        expect("3 4 is asked for", matching(&index, 0, &[3, 4]).0, Vec::<u32>::new());
        publish(&mut index, 0, &[9, 9], &[1]);
        expect("9 9 | 3 4 is asked for", matching(&index, 0, &[9, 9, 3, 4]).0, [1]);
    }

    /// The block in the middle is gone. The third one is still published, and its keys belong to exactly this text; but
    /// the keys between are missing.
    #[test]
    fn the_first_miss_ends_the_match() {
        let mut index = PrefixIndex::new(8, BLOCK);
        publish(&mut index, 0, &[1, 2, 3, 4, 5, 6], &[5, 0, 3]);
        index.forget(BlockId(0));
        expect(
            "the block in the middle is gone: found",
            matching(&index, 0, &[1, 2, 3, 4, 5, 6]).0,
            [5],
        );
        // A match that goes on behind the miss with the name before it finds 3 4 behind 1 2, where it does not stand.
        let mut index = PrefixIndex::new(8, BLOCK);
        publish(&mut index, 0, &[1, 2, 3, 4], &[5, 0]);
        expect(
            "1 2 | 3 4 is published, 1 2 | 9 9 | 3 4 is asked for",
            matching(&index, 0, &[1, 2, 9, 9, 3, 4]).0,
            [5],
        );
    }

    #[test]
    fn tenants_with_different_salts_share_nothing() {
        let mut index = PrefixIndex::new(8, BLOCK);
        publish(&mut index, 7, &[1, 2, 3, 4], &[5, 0]);
        expect("salt 7 asks", matching(&index, 7, &[1, 2, 3, 4]).0, [5, 0]);
        expect("salt 8 asks", matching(&index, 8, &[1, 2, 3, 4]).0, Vec::<u32>::new());
    }

    /// A hash that is the same for all contents: what is found must be compared.
    #[test]
    fn a_hash_alone_is_no_match() {
        let mut index = PrefixIndex::new(8, BLOCK).with_hash(|_, _| BlockHash([0; 32]));
        publish(&mut index, 0, &[1, 2], &[5]);
        expect(
            "1 2 is published, 3 4 is asked for",
            matching(&index, 0, &[3, 4]).0,
            Vec::<u32>::new(),
        );
        expect("salt 1 asks for 1 2", matching(&index, 1, &[1, 2]).0, Vec::<u32>::new());
        expect("1 2 | 1 2 is asked for", matching(&index, 0, &[1, 2, 1, 2]).0, [5]);
    }

    #[test]
    fn what_stood_in_the_lists_stays() {
        let mut index = PrefixIndex::new(8, BLOCK);
        publish(&mut index, 0, &[1, 2], &[5]);
        let (mut found, mut names) = (blocks(&[9]), Vec::new());
        match_prefix(&index, Salt(0), &ids(&[1, 2]), BLOCK, &mut found, &mut names);
        expect("found behind block 9", plain(&found), [9, 5]);
    }

    /// Hashing on after a miss costs time for blocks that can not match.
    #[test]
    fn nothing_is_hashed_behind_the_first_miss() {
        let mut index = PrefixIndex::new(8, BLOCK);
        publish(&mut index, 0, &[1, 2], &[5]);
        let text: Vec<u32> = (1..=40).collect();
        let (_, counted) = ledger::measure(|| matching(&index, 0, &text));
        expect(
            "20 blocks, the first one matches: hashes",
            counted.get("blocks_hashed"),
            2u64,
        );
    }
}

/// 10.5 The full hit: something must be left to compute.
mod ex_10_5_full_hit {
    use super::expect;
    use paged_cache::exercises::hits::usable_blocks;

    #[track_caller]
    fn check(matching: usize, num_tokens: usize, block_size: usize, expected: usize) {
        let what = format!("{matching} blocks of {block_size} match a text of {num_tokens} tokens: usable");
        expect(&what, usable_blocks(matching, num_tokens, block_size), expected);
    }

    #[test]
    fn what_matches_is_used() {
        check(0, 0, 4, 0);
        check(0, 9, 4, 0);
        check(1, 9, 4, 1);
        check(2, 9, 4, 2);
    }

    /// 8 tokens in two full blocks, both there: the logits of the last token have to come from somewhere.
    #[test]
    fn a_match_of_the_whole_text_gives_back_its_last_block() {
        check(2, 8, 4, 1);
        check(1, 4, 4, 0);
    }

    /// The border on both sides.
    #[test]
    fn one_token_more_is_enough_to_keep_it() {
        for block_size in [2, 3, 16] {
            check(2, 3 * block_size - 1, block_size, 2);
            check(3, 3 * block_size, block_size, 2);
            check(3, 3 * block_size + 1, block_size, 3);
        }
    }

    #[test]
    fn with_blocks_of_one_token_all_but_the_last_are_used() {
        check(5, 5, 1, 4);
        check(4, 5, 1, 4);
        check(1, 1, 1, 0);
    }

    /// For every length: as much as possible, and never everything.
    #[test]
    fn a_row_is_left_and_less_than_a_block_more_than_needed() {
        for block_size in 1..=6 {
            for num_tokens in 1..=40 {
                let used = usable_blocks(num_tokens / block_size, num_tokens, block_size) * block_size;
                assert!(
                    used < num_tokens && num_tokens - used <= block_size,
                    "a text of {num_tokens} tokens, all its full blocks of {block_size} match\n  expected 1 to {block_size} tokens left\n  found    {} left",
                    num_tokens as isize - used as isize
                );
            }
        }
    }
}

/// 10.6 Half a block is wasted: counted over all lengths.
mod ex_10_6_half_a_block {
    use super::question;

    /// Share of its blocks that a text uses, when lengths spread evenly over a block's length around `mean`.
    fn used(mean: usize, block_size: usize) -> f64 {
        let lengths = mean - block_size / 2 + 1..=mean + block_size / 2;
        let (tokens, room) = lengths.fold((0, 0), |(tokens, room), len| {
            (tokens + len, room + len.div_ceil(block_size) * block_size)
        });
        tokens as f64 / room as f64
    }

    #[test]
    fn the_right_option_is_what_is_counted() {
        let (options, answer) = question("10.6");
        let counted = format!(
            "{:.0} % at 80 tokens, {:.0} % at 40",
            100.0 * used(80, 16),
            100.0 * used(40, 16)
        );
        assert_eq!(options[answer], counted);
    }

    /// Whatever the lengths: half a block, and not a share.
    #[test]
    fn what_is_wasted_does_not_grow_with_the_text() {
        for (mean, block_size) in [(40, 16), (80, 16), (800, 16), (80, 4)] {
            let wasted = mean as f64 / used(mean, block_size) - mean as f64;
            assert!(
                (wasted - block_size as f64 / 2.0).abs() < 1.0,
                "{mean}, {block_size}: {wasted}"
            );
        }
    }
}

/// 10.7 Does paging make attention faster: the same multiply-adds and the same bytes.
mod ex_10_7_same_work {
    use super::question;
    use continuous_batching::{Batch, KvCache, Memory, Request, SeqId, SlotCache, Slots};
    use generation::Model;
    use lab::ledger;
    use layout::pool::Pool;
    use training::TokenId;

    /// What attention of lesson 08's slots counts for one row of a text of 20 positions.
    #[test]
    fn attention_counts_positions_and_not_blocks() {
        let model = Model::open(fixtures::model("some-kv-tied-bf16").to_str().unwrap()).unwrap();
        let llama = &model.config.llama;
        let (mut slots, mut cache) = (Slots::new(1, 20), SlotCache::new(llama, 1, 20));
        let mut request = Request::new(SeqId(0), &[TokenId(1); 20], 0, 20);
        let _ = slots.admit(&mut request);
        let mut batch = Batch::default();
        continuous_batching::exercises::ragged::build_batch(&[request], &mut batch);
        Memory::<()>::complete(&mut slots, &mut batch);
        let width = llama.q_size() + 2 * llama.kv_size();
        let qkv = vec![0.5; 20 * width];
        cache.append(0, &batch, &qkv);
        let mut out = vec![0.0; 20 * llama.q_size()];
        let pool = Pool::new(1);
        let (_, counted) = ledger::measure(|| cache.attend(&pool, llama, 0, &batch, &qkv, &mut Vec::new(), &mut out));
        // Row i sees i + 1 positions, whatever they lie in: keys and values of each, once for each query head.
        let pairs: usize = (1..=20).sum();
        assert_eq!(counted.multiply_adds, (2 * pairs * llama.q_size()) as u64);
        let (options, answer) = question("10.7");
        assert!(options[answer].starts_with("at best as fast"), "{}", options[answer]);
    }
}

/// 10.8 Equal text anywhere: a second layer's key of the same token, behind another beginning.
mod ex_10_8_equal_text {
    use super::{ids, question};
    use generation::{Model, State};
    use kv_cache::cache::ContiguousCache;
    use layout::pool::Pool;

    /// The last layer's key of the last token of a text, not turned by its place: two texts of the same length.
    fn last_key(text: &[u32]) -> Vec<f32> {
        let model = Model::open(fixtures::model("some-kv-tied-bf16").to_str().unwrap()).unwrap();
        let llama = &model.config.llama;
        let mut cache = ContiguousCache::new(llama, text.len());
        let (mut state, pool) = (State::new(&model.config, 0), Pool::new(1));
        kv_cache::forward::forward(&model.config, &model.weights, &mut state, &mut cache, &pool, &ids(text)).unwrap();
        let view = cache.view(llama.num_layers - 1, 0, text.len());
        view.k[(text.len() - 1) * view.kv_stride..][..llama.head_dim].to_vec()
    }

    /// The same token at the same position, so turned by the same angle; only what stands before differs.
    #[test]
    fn a_key_depends_on_everything_before_it() {
        assert_ne!(last_key(&[5, 6, 7, 8]), last_key(&[9, 6, 7, 8]));
        assert_eq!(last_key(&[5, 6, 7, 8]), last_key(&[5, 6, 7, 8]));
        let (options, answer) = question("10.8");
        assert_eq!(options[answer], "no");
    }
}

/// 10.9 Freeing clears memory: the numbers of a free block.
mod ex_10_9_freeing {
    use super::question;
    use paged_cache::BlockId;
    use paged_cache::block::{Block, FreeList};

    /// Going back to the list touches the block's entry and the one before it, and no key or value: it knows of none.
    #[test]
    fn freeing_writes_two_entries_of_the_list() {
        let mut all = vec![Block::default(); 1000];
        let mut free = FreeList::default();
        for id in (0..999).map(BlockId) {
            free.push_back(&mut all, id);
        }
        let before = all.clone();
        free.push_back(&mut all, BlockId(999));
        let changed = before.iter().zip(&all).filter(|(a, b)| a != b).count();
        assert_eq!(changed, 2);
        let (options, answer) = question("10.9");
        assert!(options[answer].starts_with("nothing"), "{}", options[answer]);
    }
}

/// All of them together.
mod whole {
    use super::{expect, ids};
    use continuous_batching::{Delivery, Engine, EngineLimits, Event, ModelRunner};
    use generation::Model;
    use layout::pool::Pool;
    use paged_cache::{BlockManager, PagedCache};
    use std::collections::BTreeMap;

    /// The tokens were computed by `transformers`, one prompt at a time; here all prompts share blocks of three
    /// positions, each comes twice, and the second time its beginning is there.
    #[test]
    fn a_small_model_answers_from_blocks_as_the_reference_answers() {
        let golden = fixtures::golden("some-kv-tied-bf16");
        let mut model = Model::open(fixtures::model("some-kv-tied-bf16").to_str().unwrap()).unwrap();
        model.config.eos_token_ids.clear();
        let (pool, max_seq_len) = (Pool::new(2), model.config.llama.max_seq_len);
        let cache = PagedCache::new(&model.config.llama, max_seq_len, 3);
        let runner = ModelRunner::new(&model, &pool, cache, 2, max_seq_len);
        let blocks = BlockManager::new(max_seq_len, 3, max_seq_len);
        let mut engine = Engine::new(runner, blocks, EngineLimits::of_model(&model.config, 2));
        for _ in 0..2 {
            let mut expected = BTreeMap::new();
            for case in &golden.cases {
                let id = engine
                    .submit(&ids(&case.prompt_tokens), case.greedy_tokens.len())
                    .unwrap();
                expected.insert(id, (&case.name, ids(&case.greedy_tokens)));
            }
            engine
                .run(&mut |event| {
                    if let Event::Finished { id, output, .. } = event {
                        let (name, tokens) = &expected[&id];
                        expect(&format!("{}, prompt {name:?}", golden.model), output, tokens.as_slice());
                    }
                    Delivery::Taken
                })
                .unwrap();
            engine.check_invariants();
        }
        let blocks = engine.memory;
        assert!(blocks.stats().prefix_hits > 0, "{:?}", blocks.stats());
        expect("blocks held at the end", blocks.num_held(), 0usize);
    }
}
