//! What blocks must do where engines have gone wrong: each test is named after the right behaviour. Numbers only; the oracle plays the same with floats.

use continuous_batching::batch::{Batch, BatchSequence};
use continuous_batching::memory::{Admission, Memory};
use continuous_batching::request::{Request, SeqId};
use lab::ledger;
use paged_cache::allocator::BlockAllocator;
use paged_cache::hash::{BlockHash, Salt};
use paged_cache::{BlockId, Pages, Wish};
use training::TokenId;

const BLOCK: usize = 4;

fn ids(tokens: impl IntoIterator<Item = u32>) -> Vec<TokenId> {
    tokens.into_iter().map(TokenId).collect()
}

/// Eight blocks of four positions.
fn pages() -> Pages {
    Pages::new(8, BLOCK, 32)
}

/// Lets a request join; returns the tokens that are there already, `None` where it finds no room.
fn admit(pages: &mut Pages, id: u64, prompt: &[TokenId], new_tokens: usize) -> Option<usize> {
    let mut request = Request::new(SeqId(id), prompt, new_tokens, 1 << 20);
    let admitted = pages.admit(&mut request);
    pages.check_invariants();
    (admitted == Admission::Admitted).then_some(request.num_computed)
}

fn batch(id: u64, first: usize, tokens: &[TokenId]) -> Batch {
    let mut batch = Batch::default();
    batch.sequences.push(BatchSequence {
        id: SeqId(id),
        first_row: 0,
        num_rows: tokens.len(),
        wants_logits: true,
    });
    batch.tokens.extend_from_slice(tokens);
    batch.positions.extend(first..first + tokens.len());
    batch
}

/// A pass over these rows. Returns what was copied before it.
fn compute(pages: &mut Pages, id: u64, first: usize, tokens: &[TokenId]) -> Vec<(BlockId, BlockId)> {
    let (batch, mut copied) = (batch(id, first, tokens), Vec::new());
    pages.begin(&batch, &mut copied).unwrap();
    pages.check_invariants();
    pages.commit(&batch);
    pages.check_invariants();
    copied
}

/// Joins and computes its whole prompt.
fn run(pages: &mut Pages, id: u64, prompt: &[TokenId], new_tokens: usize) -> usize {
    let found = admit(pages, id, prompt, new_tokens).expect("there is room");
    compute(pages, id, found, &prompt[found..]);
    found
}

fn release(pages: &mut Pages, id: u64) -> bool {
    let held = pages.release(SeqId(id));
    pages.check_invariants();
    held
}

fn blocks_of(pages: &Pages, id: u64) -> Vec<BlockId> {
    pages.table(SeqId(id)).unwrap().blocks.clone()
}

/// Before its first pass, between passes, and between the two halves of a pass.
#[test]
fn abort_frees_in_every_state() {
    for passes in 0..3 {
        let mut pages = pages();
        let prompt = ids(0..6);
        admit(&mut pages, 0, &prompt, 5).unwrap();
        if passes > 0 {
            compute(&mut pages, 0, 0, &prompt);
        }
        if passes > 1 {
            // The pass has taken blocks and is never committed.
            pages.begin(&batch(0, 6, &ids([9, 9, 9])), &mut Vec::new()).unwrap();
        }
        assert!(release(&mut pages, 0));
        assert_eq!((pages.num_held(), pages.num_unpromised()), (0, 8), "{passes} passes");
    }
}

#[test]
fn a_second_abort_and_one_without_blocks_change_nothing() {
    let mut pages = pages();
    run(&mut pages, 0, &ids(0..6), 2);
    run(&mut pages, 1, &ids(20..26), 2);
    assert!(release(&mut pages, 0));
    let (held, free) = (pages.num_held(), pages.num_unpromised());
    assert!(!release(&mut pages, 0));
    assert!(!release(&mut pages, 77));
    assert_eq!((pages.num_held(), pages.num_unpromised()), (held, free));
}

/// Two requests hold the same blocks; whoever leaves takes away one reference of each.
#[test]
fn each_owner_drops_only_its_own_reference() {
    let mut pages = pages();
    run(&mut pages, 0, &ids(0..9), 1);
    assert_eq!(run(&mut pages, 1, &ids(0..9), 1), 8);
    let shared = blocks_of(&pages, 1)[0];
    assert_eq!(pages.allocator().ref_count(shared), 2);
    release(&mut pages, 0);
    assert_eq!(pages.allocator().ref_count(shared), 1);
    assert_eq!(pages.num_held(), 3);
    release(&mut pages, 1);
    assert_eq!(pages.num_held(), 0);
}

/// What was pinned for a request that finds no room is let go again.
#[test]
fn a_refusal_releases_what_it_had_pinned() {
    let mut pages = pages();
    run(&mut pages, 0, &ids(0..9), 1);
    let before = (pages.num_held(), pages.num_unpromised(), pages.stats());
    assert_eq!(
        admit(&mut pages, 1, &ids(0..9), 23),
        None,
        "its rest needs six blocks, five are free"
    );
    assert_eq!((pages.num_held(), pages.num_unpromised(), pages.stats()), before);
    assert_eq!(pages.allocator().ref_count(blocks_of(&pages, 0)[0]), 1);
}

#[test]
#[should_panic(expected = "nobody holds it")]
fn a_block_freed_twice_is_noticed() {
    let mut list = BlockAllocator::new(2);
    let mut taken = Vec::new();
    list.allocate(1, &mut taken);
    list.release(taken[0]);
    list.release(taken[0]);
}

/// All free blocks have a name; a newcomer takes some of them, and whoever asks for the old text afterwards does not get the new one's keys.
#[test]
fn a_block_that_is_handed_out_loses_its_name() {
    let mut pages = pages();
    let old = ids(0..32);
    run(&mut pages, 0, &old[..31], 1);
    compute(&mut pages, 0, 31, &old[31..]);
    release(&mut pages, 0);
    assert_eq!(pages.prefix().unwrap().len(), 8);
    run(&mut pages, 1, &ids(100..112), 1);
    // Twelve tokens are published under new names, one block more is promised and not taken.
    assert_eq!(pages.stats().evictions, 3);
    assert_eq!(pages.prefix().unwrap().len(), 8);
    release(&mut pages, 1);
    assert_eq!(
        admit(&mut pages, 2, &old[..31], 1),
        Some(20),
        "the last three blocks are gone"
    );
}

/// The list hands out what became free first: of a text the end, and of two texts the older one.
#[test]
fn the_tail_of_a_chain_goes_first_and_the_oldest_text_before_others() {
    let mut pages = pages();
    let (old, new) = (ids(0..16), ids(50..66));
    run(&mut pages, 0, &old, 0);
    run(&mut pages, 1, &new, 0);
    release(&mut pages, 0);
    release(&mut pages, 1);
    run(&mut pages, 2, &ids(90..95), 1);
    assert_eq!(pages.stats().evictions, 2);
    release(&mut pages, 2);
    let found = |pages: &mut Pages, id: u64, text: &[TokenId]| {
        let mut longer = text.to_vec();
        longer.push(TokenId(7));
        let found = admit(pages, id, &longer, 0);
        release(pages, id);
        found
    };
    assert_eq!(
        found(&mut pages, 3, &old),
        Some(8),
        "the two last blocks of the older text went"
    );
    assert_eq!(found(&mut pages, 4, &new), Some(16));
}

#[test]
fn all_or_nothing() {
    let mut pages = pages();
    run(&mut pages, 0, &ids(0..8), 8);
    let before = (pages.num_held(), pages.num_unpromised());
    assert_eq!(before, (2, 4));
    assert_eq!(
        admit(&mut pages, 1, &ids(60..68), 9),
        None,
        "five blocks, four can be promised"
    );
    assert_eq!((pages.num_held(), pages.num_unpromised()), before);
    assert_eq!(admit(&mut pages, 1, &ids(60..68), 8), Some(0));
}

/// Five blocks are free and named, three are held. The newcomer's beginning is in free blocks, which are also the next to be handed out: it gets others.
#[test]
fn hits_are_pinned_before_anything_is_evicted() {
    let mut pages = pages();
    let text = ids(0..12);
    run(&mut pages, 0, &text, 0);
    release(&mut pages, 0);
    run(&mut pages, 1, &ids(50..62), 0);
    // The two that were never used are taken next, then the blocks of the first text, its end first.
    let mut longer = text[..8].to_vec();
    longer.extend(ids(200..212));
    assert_eq!(run(&mut pages, 2, &longer, 0), 8);
    let table = pages.table(SeqId(2)).unwrap();
    let mut own = table.blocks.clone();
    own.sort();
    own.dedup();
    assert_eq!(own.len(), 5, "{table:?}");
    release(&mut pages, 2);
    assert_eq!(admit(&mut pages, 3, &longer, 0), Some(16));
}

/// Length mod block size in {0, 1, block - 1}, for a block of one position too.
#[test]
fn a_fully_cached_prompt_leaves_a_row_to_compute() {
    for block_size in [1, 3, 4, 16] {
        for len in [
            1,
            block_size - 1,
            block_size,
            block_size + 1,
            2 * block_size - 1,
            2 * block_size,
            2 * block_size + 1,
        ] {
            let len = len.max(1);
            let mut pages = Pages::new(80 / block_size, block_size, 64);
            let prompt = ids(0..len as u32);
            run(&mut pages, 0, &prompt, 3);
            let found = admit(&mut pages, 1, &prompt, 3).unwrap();
            assert_eq!(
                found,
                (len - 1) / block_size * block_size,
                "{len} tokens in blocks of {block_size}"
            );
            assert!(found < len);
        }
    }
}

/// Its keys are not written yet: nobody may find a block between begin and commit.
#[test]
fn a_block_is_published_after_its_keys_are_written() {
    let mut pages = pages();
    let prompt = ids(0..9);
    admit(&mut pages, 0, &prompt, 1).unwrap();
    let batch = batch(0, 0, &prompt);
    pages.begin(&batch, &mut Vec::new()).unwrap();
    assert_eq!(admit(&mut pages, 1, &prompt, 1), Some(0), "in the middle of the pass");
    pages.release(SeqId(1));
    pages.commit(&batch);
    assert_eq!(admit(&mut pages, 2, &prompt, 1), Some(8), "after it");
}

/// A hash that is the same for everything, so each look finds something and has to compare: tokens, what stands before, whose it is.
#[test]
fn what_is_found_is_compared_and_not_only_hashed() {
    let mut pages = Pages::new(16, 2, 32).with_hash(|_, _| BlockHash([0; 32]));
    run(&mut pages, 0, &ids([1, 2, 3]), 0);
    assert_eq!(admit(&mut pages, 1, &ids([4, 5, 6]), 0), Some(0), "other tokens");
    assert_eq!(admit(&mut pages, 2, &ids([1, 2, 9]), 0), Some(2), "the same tokens");
    let tenant = Wish {
        salt: Salt(1),
        ..Wish::default()
    };
    pages.wish(SeqId(3), tenant);
    assert_eq!(admit(&mut pages, 3, &ids([1, 2, 9]), 0), Some(0), "another tenant's");
    // 1 2 behind 1 2 is not 1 2 at the beginning.
    assert_eq!(admit(&mut pages, 4, &ids([1, 2, 1, 2, 9]), 0), Some(2), "another place");
}

#[test]
fn tenants_share_nothing() {
    let mut pages = pages();
    for (id, salt, expected) in [(0, 1, 0), (1, 2, 0), (2, 1, 8)] {
        pages.wish(
            SeqId(id),
            Wish {
                salt: Salt(salt),
                ..Wish::default()
            },
        );
        assert_eq!(
            run(&mut pages, id, &ids(0..9), 0),
            expected,
            "request {id} with salt {salt}"
        );
        release(&mut pages, id);
    }
}

/// Neither at admission nor when a block becomes full.
#[test]
fn the_switch_gates_hashing_too() {
    let counted = |mut pages: Pages| {
        let (found, counted) = ledger::measure(|| {
            run(&mut pages, 0, &ids(0..9), 0);
            run(&mut pages, 1, &ids(0..9), 0)
        });
        (found, counted.get("blocks_hashed"))
    };
    assert_eq!(counted(pages().without_prefix_cache()), (0, 0));
    // One look that finds nothing, two published; two looks that find, and nothing new to publish.
    assert_eq!(counted(pages()), (8, 1 + 2 + 2));
}

#[test]
fn the_first_miss_ends_the_match() {
    let mut pages = pages();
    run(&mut pages, 0, &ids(0..13), 0);
    // The same third block, behind another second one.
    let mut other = ids(0..4);
    other.extend(ids(70..74));
    other.extend(ids(8..13));
    assert_eq!(admit(&mut pages, 1, &other, 0), Some(4));
}

/// Who takes over a prompt writes its last row again, and so into a copy; the other one reads what it has always read.
#[test]
fn a_shared_block_is_copied_before_it_is_written() {
    let mut pages = pages().without_prefix_cache();
    let prompt = ids(0..6);
    run(&mut pages, 0, &prompt, 4);
    pages.wish(
        SeqId(1),
        Wish {
            parent: Some(SeqId(0)),
            ..Wish::default()
        },
    );
    assert_eq!(admit(&mut pages, 1, &prompt, 4), Some(5));
    assert_eq!(blocks_of(&pages, 0), blocks_of(&pages, 1));
    let copied = compute(&mut pages, 1, 5, &prompt[5..]);
    let (first, second) = (blocks_of(&pages, 0), blocks_of(&pages, 1));
    assert_eq!(first[0], second[0]);
    assert_eq!(copied, [(first[1], second[1])]);
    // The first one has its last block for itself again: no copy.
    assert_eq!(compute(&mut pages, 0, 6, &ids([9])), []);
}

/// A wish that would show one request the keys of another prompt, or of another tenant.
#[test]
fn a_wish_for_another_prompt_is_not_granted() {
    let mut pages = pages().without_prefix_cache();
    run(&mut pages, 0, &ids(0..6), 1);
    for (id, prompt, salt) in [(1, ids(10..16), 0), (2, ids(0..6), 5)] {
        let wish = Wish {
            parent: Some(SeqId(0)),
            salt: Salt(salt),
        };
        pages.wish(SeqId(id), wish);
        assert_eq!(admit(&mut pages, id, &prompt, 1), Some(0), "request {id}");
        assert!(blocks_of(&pages, id).is_empty(), "request {id}");
    }
    assert_eq!(pages.stats().forked, 0);
}

/// A pass that failed is computed again: what it wrote is forgotten, also a name that a block of it has.
#[test]
fn a_pass_can_be_computed_again() {
    let mut pages = pages();
    let prompt = ids(0..8);
    run(&mut pages, 0, &prompt, 4);
    compute(&mut pages, 0, 4, &prompt[4..]);
    assert_eq!(pages.table(SeqId(0)).unwrap().len, 8);
    assert_eq!(pages.prefix().unwrap().len(), 2);
}

/// Kept positions as a share of those of the held blocks, shared ones counted once.
#[test]
fn usage_counts_each_block_once() {
    let mut pages = pages();
    assert_eq!(pages.usage(), 1.0);
    run(&mut pages, 0, &ids(0..9), 1);
    assert_eq!(pages.usage(), 9.0 / 12.0);
    run(&mut pages, 1, &ids(0..10), 1);
    assert_eq!(pages.num_held(), 4);
    assert_eq!(pages.usage(), (8.0 + 1.0 + 2.0) / 16.0);
    let stats = pages.stats();
    assert_eq!((stats.prefix_queries, stats.prefix_hits), (19, 8));
    assert_eq!(stats.hit_rate(), 8.0 / 19.0);
}

/// A copy that was promised is struck off when it is made, also where others who never write hold the block too: or more would be promised than there is.
#[test]
fn a_promised_copy_is_promised_once() {
    let mut pages = Pages::new(10, 1, 16);
    let prompt = ids([7]);
    run(&mut pages, 0, &prompt, 3);
    // A second answer, which will write its last row again, and a longer text that only reads the block.
    let parent = Some(SeqId(0));
    pages.wish(
        SeqId(1),
        Wish {
            parent,
            ..Wish::default()
        },
    );
    assert_eq!(admit(&mut pages, 1, &prompt, 3), Some(0));
    assert_eq!(admit(&mut pages, 2, &ids([7, 8]), 1), Some(1));
    let free = pages.num_unpromised();
    assert_eq!(compute(&mut pages, 1, 0, &prompt).len(), 1);
    assert_eq!(pages.num_unpromised(), free, "the copy was promised");
    for id in 0..3 {
        assert!(release(&mut pages, id));
    }
    assert_eq!(pages.num_unpromised(), 10);
}

/// Whoever will come again goes on to share with the same others.
#[test]
fn what_is_taken_back_keeps_its_salt() {
    let mut pages = pages();
    let prompt = ids(0..9);
    let salt = Salt(7);
    pages.wish(SeqId(0), Wish { parent: None, salt });
    run(&mut pages, 0, &prompt, 4);
    assert!(pages.take_back(SeqId(0)));
    pages.check_invariants();
    assert_eq!(admit(&mut pages, 1, &prompt, 4), Some(0), "nothing of another's");
    assert_eq!(admit(&mut pages, 0, &prompt, 4), Some(8), "its own");
    assert!(release(&mut pages, 0) && release(&mut pages, 1));
    assert_eq!(pages.wish_of(SeqId(0)), None);
}

#[test]
#[should_panic(expected = "was not promised 2 blocks")]
fn nothing_is_copied_in_where_nothing_was_promised() {
    let mut pages = pages();
    admit(&mut pages, 0, &ids(0..2), 0);
    pages.begin_copy(SeqId(0), 5);
}
