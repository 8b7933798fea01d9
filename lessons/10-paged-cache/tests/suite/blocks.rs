//! The right behaviour of blocks where engines have gone wrong: each test is named after it. Numbers only; the oracle
//! plays the same with floats.

use continuous_batching::memory::{Admission, Memory};
use continuous_batching::request::{Request, SeqId};
use continuous_batching::{Batch, Engine, EngineLimits, Refusal};
use lab::ledger;
use paged_cache::allocator::BlockAllocator;
use paged_cache::hash::{BlockHash, Salt};
use paged_cache::{BlockId, BlockManager, Reserve, Sharing};
use std::collections::BTreeMap;
use training::TokenId;

const BLOCK: usize = 4;

fn ids(tokens: impl IntoIterator<Item = u32>) -> Vec<TokenId> {
    tokens.into_iter().map(TokenId).collect()
}

/// A block manager and the requests that it was asked to admit, checked after every call.
struct Subject {
    blocks: BlockManager,
    requests: BTreeMap<u64, Request<Sharing>>,
}

/// Eight blocks of four positions.
fn subject() -> Subject {
    Subject::of(BlockManager::new(8, BLOCK, 32))
}

fn salted(salt: u64) -> Sharing {
    Sharing {
        parent: None,
        salt: Salt(salt),
    }
}

fn child_of(parent: u64) -> Sharing {
    Sharing {
        parent: Some(SeqId(parent)),
        salt: Salt::default(),
    }
}

impl Subject {
    fn of(blocks: BlockManager) -> Subject {
        Subject {
            blocks,
            requests: BTreeMap::new(),
        }
    }

    fn check(&self) {
        Memory::<Sharing>::check_invariants(&self.blocks);
    }

    /// Asks for admission; returns the number of tokens that are in memory already, `None` where there is no room.
    fn admit_with(&mut self, id: u64, prompt: &[TokenId], new_tokens: usize, sharing: Sharing) -> Option<usize> {
        let mut request = Request::with(SeqId(id), prompt, new_tokens, 1 << 20, sharing);
        let admitted = self.blocks.admit(&mut request);
        self.check();
        let found = (admitted == Admission::Admitted).then_some(request.num_computed);
        self.requests.insert(id, request);
        found
    }

    fn admit(&mut self, id: u64, prompt: &[TokenId], new_tokens: usize) -> Option<usize> {
        self.admit_with(id, prompt, new_tokens, Sharing::default())
    }

    /// A pass over all tokens that are known and not computed. Returns the copies that it makes first.
    #[track_caller]
    fn compute(&mut self, id: u64) -> Vec<(u32, u32)> {
        let request = self.requests.get_mut(&id).unwrap();
        let grown = Memory::<Sharing>::grow(&mut self.blocks, request.id, request.num_tokens());
        assert!(grown, "no block for the next token of {id}");
        let mut batch = Batch::default();
        Memory::<Sharing>::complete(&mut self.blocks, &mut batch);
        request.num_computed = request.num_tokens();
        self.blocks.note_computed(request);
        self.check();
        batch.copies
    }

    /// The next tokens of a request's output, computed one by one.
    fn write(&mut self, id: u64, tokens: &[TokenId]) {
        for token in tokens {
            self.requests.get_mut(&id).unwrap().output.push(*token);
            self.compute(id);
        }
    }

    /// Admission and the pass over the prompt. Returns the number of tokens that were in memory already.
    #[track_caller]
    fn run_with(&mut self, id: u64, prompt: &[TokenId], new_tokens: usize, sharing: Sharing) -> usize {
        let found = self.admit_with(id, prompt, new_tokens, sharing).expect("there is room");
        self.compute(id);
        found
    }

    #[track_caller]
    fn run(&mut self, id: u64, prompt: &[TokenId], new_tokens: usize) -> usize {
        self.run_with(id, prompt, new_tokens, Sharing::default())
    }

    fn free(&mut self, id: u64) -> bool {
        let held = Memory::<Sharing>::free(&mut self.blocks, SeqId(id));
        self.check();
        held
    }

    fn blocks_of(&self, id: u64) -> Vec<BlockId> {
        self.blocks.table(SeqId(id)).unwrap().blocks.clone()
    }

    /// Number of blocks that are held, and that are neither held nor reserved.
    fn counts(&self) -> (usize, usize) {
        (self.blocks.num_held(), self.blocks.num_available())
    }
}

/// Before its first pass, after its prompt, and in the middle of its output.
#[test]
fn abort_frees_in_every_state() {
    for passes in 0..3 {
        let mut subject = subject();
        subject.admit(0, &ids(0..6), 5).unwrap();
        if passes > 0 {
            subject.compute(0);
        }
        if passes > 1 {
            subject.write(0, &ids([9, 9, 9]));
        }
        assert!(subject.free(0));
        assert_eq!(subject.counts(), (0, 8), "{passes} passes");
    }
}

#[test]
fn a_second_abort_and_one_without_blocks_change_nothing() {
    let mut subject = subject();
    subject.run(0, &ids(0..6), 2);
    subject.run(1, &ids(20..26), 2);
    assert!(subject.free(0));
    let before = subject.counts();
    assert!(!subject.free(0));
    assert!(!subject.free(77));
    assert_eq!(subject.counts(), before);
}

/// Two requests hold the same blocks; the one that ends drops one reference of each.
#[test]
fn each_owner_drops_only_its_own_reference() {
    let mut subject = subject();
    subject.run(0, &ids(0..9), 1);
    assert_eq!(subject.run(1, &ids(0..9), 1), 8);
    let shared = subject.blocks_of(1)[0];
    assert_eq!(subject.blocks.allocator().ref_count(shared), 2);
    subject.free(0);
    assert_eq!(subject.blocks.allocator().ref_count(shared), 1);
    assert_eq!(subject.blocks.num_held(), 3);
    subject.free(1);
    assert_eq!(subject.blocks.num_held(), 0);
}

/// Blocks that were shared with a request that finds no room are dropped again.
#[test]
fn a_refusal_drops_what_it_had_shared() {
    let mut subject = subject();
    subject.run(0, &ids(0..9), 1);
    let before = (subject.counts(), subject.blocks.stats());
    // Two blocks are found; the rest needs six, and five are free.
    assert_eq!(subject.admit(1, &ids(0..9), 23), None);
    assert_eq!((subject.counts(), subject.blocks.stats()), before);
    assert_eq!(subject.blocks.allocator().ref_count(subject.blocks_of(0)[0]), 1);
}

#[test]
#[should_panic(expected = "has no holder")]
fn a_block_freed_twice_is_noticed() {
    let mut allocator = BlockAllocator::new(2);
    let mut taken = Vec::new();
    allocator.allocate(1, &mut taken);
    allocator.free(taken[0]);
    allocator.free(taken[0]);
}

/// All free blocks have a name; a new text takes some of them, and a request for the old text does not get the new
/// text's keys.
#[test]
fn a_block_that_is_handed_out_loses_its_name() {
    let mut subject = subject();
    let old = ids(0..32);
    subject.run(0, &old[..31], 1);
    subject.write(0, &old[31..]);
    subject.free(0);
    assert_eq!(subject.blocks.prefix().unwrap().len(), 8);
    subject.run(1, &ids(100..112), 1);
    // Twelve tokens are published under new names; one block more is reserved and not taken.
    assert_eq!(subject.blocks.stats().evictions, 3);
    assert_eq!(subject.blocks.prefix().unwrap().len(), 8);
    subject.free(1);
    assert_eq!(
        subject.admit(2, &old[..31], 1),
        Some(20),
        "the last three blocks are gone"
    );
}

/// The block that became free first is handed out first: of a text its end, and of two texts the older one.
#[test]
fn the_tail_of_a_chain_goes_first_and_the_oldest_text_before_others() {
    let mut subject = subject();
    let (old, new) = (ids(0..16), ids(50..66));
    subject.run(0, &old, 0);
    subject.run(1, &new, 0);
    subject.free(0);
    subject.free(1);
    subject.run(2, &ids(90..95), 1);
    assert_eq!(subject.blocks.stats().evictions, 2);
    subject.free(2);
    // On a copy: admission takes blocks.
    let found = |id: u64, text: &[TokenId]| {
        let mut longer = text.to_vec();
        longer.push(TokenId(7));
        Subject::of(subject.blocks.clone()).admit(id, &longer, 0)
    };
    assert_eq!(found(3, &old), Some(8), "the two last blocks of the older text went");
    assert_eq!(found(4, &new), Some(16));
}

#[test]
fn all_or_nothing() {
    let mut subject = subject();
    subject.run(0, &ids(0..8), 8);
    assert_eq!(subject.counts(), (2, 4));
    assert_eq!(
        subject.admit(1, &ids(60..68), 9),
        None,
        "five blocks in all, four are available"
    );
    assert_eq!(subject.counts(), (2, 4));
    assert_eq!(subject.admit(1, &ids(60..68), 8), Some(0));
}

/// Where only known tokens are counted, more requests join, and growing may find no block. Then nothing changes.
#[test]
fn without_a_reserve_a_sequence_may_not_grow() {
    let mut subject = Subject::of(BlockManager::new(4, BLOCK, 16).reserving(Reserve::Known));
    subject.run(0, &ids(0..8), 8);
    subject.run(1, &ids(60..68), 8);
    assert_eq!(subject.counts(), (4, 0));
    for (num_tokens, fits) in [(8, true), (9, false)] {
        let grown = Memory::<Sharing>::grow(&mut subject.blocks, SeqId(0), num_tokens);
        assert_eq!(grown, fits, "{num_tokens} tokens");
        subject.check();
        assert_eq!(subject.counts(), (4, 0));
    }
    subject.free(1);
    subject.write(0, &ids([9]));
}

/// Five blocks are free and named, three are held. The beginning of the new text is in free blocks, which are also the
/// next to be handed out: it gets other ones for its rest.
#[test]
fn hits_are_shared_before_anything_is_evicted() {
    let mut subject = subject();
    let text = ids(0..12);
    subject.run(0, &text, 0);
    subject.free(0);
    subject.run(1, &ids(50..62), 0);
    let mut longer = text[..8].to_vec();
    longer.extend(ids(200..212));
    assert_eq!(subject.run(2, &longer, 0), 8);
    let mut own = subject.blocks_of(2);
    own.sort();
    own.dedup();
    assert_eq!(own.len(), 5);
    subject.free(2);
    assert_eq!(subject.admit(3, &longer, 0), Some(16));
}

/// nano-vllm#66: every length at the border of a block, for several block sizes; a prompt that is all in memory leaves
/// a row to compute.
#[test]
fn a_fully_cached_prompt_leaves_a_row_to_compute() {
    for block_size in [1, 2, 3, 4, 16] {
        for len in 1..=2 * block_size + 1 {
            let mut subject = Subject::of(BlockManager::new(80 / block_size, block_size, 64));
            let prompt = ids(0..len as u32);
            subject.run(0, &prompt, 3);
            let found = subject.admit(1, &prompt, 3).unwrap();
            assert_eq!(
                found,
                (len - 1) / block_size * block_size,
                "{len} tokens in blocks of {block_size}"
            );
            assert!(found < len);
        }
    }
}

/// Its keys are not written yet: a block is found after the pass that computes it, not before.
#[test]
fn a_block_is_published_after_its_keys_are_written() {
    let mut subject = subject();
    let prompt = ids(0..9);
    subject.admit(0, &prompt, 1).unwrap();
    assert_eq!(subject.admit(1, &prompt, 1), Some(0), "before the pass");
    subject.free(1);
    subject.compute(0);
    assert_eq!(subject.admit(2, &prompt, 1), Some(8), "after it");
}

/// Of two blocks that are computed alike, one has the name. The other may be freed and used again without taking the
/// name away.
#[test]
fn a_name_is_taken_from_the_block_that_has_it() {
    let mut subject = Subject::of(BlockManager::new(16, BLOCK, 32));
    let prompt = ids(0..9);
    // Both join before anything is computed, so both compute the same blocks.
    assert_eq!(subject.admit(0, &prompt, 4), Some(0));
    assert_eq!(subject.admit(1, &prompt, 4), Some(0));
    subject.compute(0);
    subject.compute(1);
    assert_eq!(subject.blocks.prefix().unwrap().len(), 2, "one name for one content");
    subject.free(1);
    subject.run(2, &ids(100..131), 1);
    assert_eq!(
        subject.admit(3, &prompt, 1),
        Some(8),
        "the blocks of the first request still have their names"
    );
}

/// A hash that is the same for everything, so each lookup finds a block and has to compare: tokens, what stands before,
/// the salt.
#[test]
fn a_found_block_is_compared_and_not_only_hashed() {
    let mut subject = Subject::of(BlockManager::new(16, 2, 32).with_hash(|_, _| BlockHash([0; 32])));
    subject.run(0, &ids([1, 2, 3]), 0);
    assert_eq!(subject.admit(1, &ids([4, 5, 6]), 0), Some(0), "other tokens");
    assert_eq!(subject.admit(2, &ids([1, 2, 9]), 0), Some(2), "the same tokens");
    assert_eq!(
        subject.admit_with(3, &ids([1, 2, 9]), 0, salted(1)),
        Some(0),
        "another salt"
    );
    // 1 2 behind 1 2 is not 1 2 at the beginning.
    assert_eq!(subject.admit(4, &ids([1, 2, 1, 2, 9]), 0), Some(2), "another place");
}

#[test]
fn tenants_share_nothing() {
    let mut subject = subject();
    for (id, salt, expected) in [(0, 1, 0), (1, 2, 0), (2, 1, 8)] {
        let found = subject.run_with(id, &ids(0..9), 0, salted(salt));
        assert_eq!(found, expected, "request {id} with salt {salt}");
        subject.free(id);
    }
}

/// Neither at admission nor when a block becomes full.
#[test]
fn the_switch_gates_hashing_too() {
    let counted = |blocks: BlockManager| {
        let mut subject = Subject::of(blocks);
        let (found, counted) = ledger::measure(|| {
            subject.run(0, &ids(0..9), 0);
            subject.run(1, &ids(0..9), 0)
        });
        (found, counted.get("blocks_hashed"))
    };
    assert_eq!(counted(subject().blocks.without_prefix_cache()), (0, 0));
    // One lookup that finds nothing, two blocks published; two lookups that find, and nothing new to publish.
    assert_eq!(counted(subject().blocks), (8, 1 + 2 + 2));
}

#[test]
fn the_first_miss_ends_the_match() {
    let mut subject = subject();
    subject.run(0, &ids(0..13), 0);
    // The same third block, behind another second one.
    let mut other = ids(0..4);
    other.extend(ids(70..74));
    other.extend(ids(8..13));
    assert_eq!(subject.admit(1, &other, 0), Some(4));
}

/// A child writes the last row of the prompt again, so it gets a copy of the block at its admission. The parent keeps
/// its own.
#[test]
fn a_fork_copies_the_block_that_it_will_write() {
    let mut subject = Subject::of(subject().blocks.without_prefix_cache());
    let prompt = ids(0..6);
    subject.run(0, &prompt, 4);
    assert_eq!(subject.admit_with(1, &prompt, 4, child_of(0)), Some(5));
    let (parent, child) = (subject.blocks_of(0), subject.blocks_of(1));
    assert_eq!(parent[0], child[0]);
    assert_ne!(parent[1], child[1]);
    assert_eq!(subject.compute(1), [(parent[1].0, child[1].0)]);
    subject.write(0, &ids([9]));
    assert_eq!(subject.blocks_of(0), parent);
}

/// The last token of the prompt stands first in its block: the child computes all that it will read there, so nothing
/// is copied.
#[test]
fn a_fork_copies_nothing_where_the_last_token_begins_a_block() {
    let mut subject = subject();
    let prompt = ids(0..5);
    subject.run(0, &prompt, 4);
    assert_eq!(subject.admit_with(1, &prompt, 4, child_of(0)), Some(4));
    assert_eq!(subject.compute(1), []);
    assert_eq!(subject.blocks.stats().copies, 0);
}

/// The copy is found by its content later, like any other block.
#[test]
fn a_copied_block_is_published_with_all_of_its_tokens() {
    let mut subject = subject();
    let prompt = ids(0..6);
    subject.run(0, &prompt, 4);
    subject.run_with(1, &prompt, 4, child_of(0));
    subject.free(0);
    subject.write(1, &ids([50, 51]));
    let mut text = prompt.clone();
    text.extend(ids([50, 51, 9]));
    assert_eq!(subject.admit(2, &text, 0), Some(8));
}

/// A child waits until its parent's prompt is computed.
#[test]
fn a_child_waits_for_its_parent() {
    let mut subject = subject();
    let prompt = ids(0..6);
    subject.admit(0, &prompt, 4).unwrap();
    assert_eq!(subject.admit_with(1, &prompt, 4, child_of(0)), None);
    subject.compute(0);
    assert_eq!(subject.admit_with(1, &prompt, 4, child_of(0)), Some(5));
}

/// A parent with another prompt, or of another tenant, would show the child keys that are not its own.
#[test]
fn a_parent_with_another_prompt_or_salt_is_ignored() {
    let mut subject = Subject::of(subject().blocks.without_prefix_cache());
    subject.run(0, &ids(0..6), 1);
    for (id, prompt, salt) in [(1, ids(10..16), 0), (2, ids(0..6), 5)] {
        let sharing = Sharing {
            parent: Some(SeqId(0)),
            salt: Salt(salt),
        };
        assert_eq!(subject.admit_with(id, &prompt, 1, sharing), Some(0), "request {id}");
        let shares = subject
            .blocks_of(id)
            .iter()
            .any(|block| subject.blocks_of(0).contains(block));
        assert!(!shares, "request {id}");
    }
    assert_eq!(subject.blocks.stats().forked, 0);
}

/// Written positions as a share of those of the held blocks, shared ones counted once.
#[test]
fn usage_counts_each_block_once() {
    let mut subject = subject();
    assert_eq!(subject.blocks.usage(), 1.0);
    subject.run(0, &ids(0..9), 1);
    assert_eq!(subject.blocks.usage(), 9.0 / 12.0);
    subject.run(1, &ids(0..10), 1);
    assert_eq!(subject.blocks.num_held(), 4);
    assert_eq!(subject.blocks.usage(), (8.0 + 1.0 + 2.0) / 16.0);
    let stats = subject.blocks.stats();
    assert_eq!((stats.prefix_queries, stats.prefix_hits), (19, 8));
    assert_eq!(stats.hit_rate(), 8.0 / 19.0);
}

/// A reserve is struck off as blocks are taken, also where several texts share what they have in common.
#[test]
fn a_reserved_block_is_reserved_once() {
    let mut subject = Subject::of(BlockManager::new(10, 1, 16));
    subject.run(0, &ids([7]), 3);
    assert_eq!(subject.admit_with(1, &ids([7]), 3, child_of(0)), Some(0));
    assert_eq!(subject.admit(2, &ids([7, 8]), 1), Some(1));
    let available = subject.blocks.num_available();
    subject.compute(1);
    subject.write(1, &ids([9]));
    assert_eq!(subject.blocks.num_available(), available);
    for id in 0..3 {
        assert!(subject.free(id));
    }
    assert_eq!(subject.counts(), (0, 10));
}

/// A preempted request comes again with the salt that it carries, and finds its own blocks.
#[test]
fn a_request_that_comes_again_keeps_its_salt() {
    let mut subject = subject();
    let prompt = ids(0..9);
    subject.run_with(0, &prompt, 4, salted(7));
    assert!(subject.free(0));
    assert_eq!(subject.admit(1, &prompt, 4), Some(0), "another salt");
    let mut request = subject.requests.remove(&0).unwrap();
    request.num_computed = 0;
    assert_eq!(subject.blocks.admit(&mut request), Admission::Admitted);
    assert_eq!(request.num_computed, 8);
}

/// vllm#39734, nano-vllm#274: a request that could never fit blocked the queue for ever.
#[test]
fn a_request_that_can_never_fit_is_refused_at_submit() {
    let runner = continuous_batching::runner::NoModel::new(200);
    let limits = EngineLimits {
        max_running: 4,
        max_new_tokens: usize::MAX,
        max_seq_len: 1000,
        vocab_size: 200,
        end_of_text: Vec::new(),
    };
    let mut engine = Engine::new(runner, BlockManager::new(3, BLOCK, 1000), limits);
    let refused = engine.submit(&ids(0..13), 1).unwrap_err();
    let expected = Refusal::PromptTooLong {
        prompt_tokens: 13,
        max_seq_len: 12,
    };
    assert_eq!(refused, expected);
    engine.submit(&ids(0..12), 0).unwrap();
}
