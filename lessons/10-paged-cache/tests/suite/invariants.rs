//! Allocator and prefix index against models that are too simple to be wrong, over generated calls.

use paged_cache::BlockId;
use paged_cache::allocator::BlockAllocator;
use paged_cache::exercises::chain::match_prefix;
use paged_cache::exercises::place::block_place;
use paged_cache::hash::{Before, BlockHash, Salt};
use paged_cache::prefix::PrefixIndex;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use training::TokenId;

/// The allocator as a list of free numbers and a count for each.
struct Simple {
    free: VecDeque<u32>,
    counts: BTreeMap<u32, u32>,
}

#[derive(Clone, Debug)]
enum Ask {
    Allocate(usize),
    Share(usize),
    Free(usize),
}

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let ask = prop_oneof![
        2 => (0..6usize).prop_map(Ask::Allocate),
        2 => any::<usize>().prop_map(Ask::Share),
        4 => any::<usize>().prop_map(Ask::Free),
    ];
    prop::collection::vec(ask, 0..80)
}

proptest! {
    #[test]
    fn the_allocator_does_what_a_list_does(num_blocks in 0..12usize, asks in asks()) {
        let mut allocator = BlockAllocator::new(num_blocks);
        let mut simple = Simple {
            free: (0..num_blocks as u32).collect(),
            counts: BTreeMap::new(),
        };
        for ask in asks {
            match ask {
                Ask::Allocate(count) => {
                    let mut taken = Vec::new();
                    let fits = count <= simple.free.len();
                    prop_assert_eq!(allocator.allocate(count, &mut taken), fits);
                    let expected: Vec<u32> = match fits {
                        true => simple.free.drain(..count).collect(),
                        false => Vec::new(),
                    };
                    for id in &expected {
                        simple.counts.insert(*id, 1);
                    }
                    prop_assert_eq!(taken, expected.into_iter().map(BlockId).collect::<Vec<_>>());
                }
                // Any block may be shared, a free one too: its content is wanted again.
                Ask::Share(which) if num_blocks > 0 => {
                    let id = (which % num_blocks) as u32;
                    allocator.share(BlockId(id));
                    simple.free.retain(|free| *free != id);
                    *simple.counts.entry(id).or_default() += 1;
                }
                Ask::Free(which) if !simple.counts.is_empty() => {
                    let id = *simple.counts.keys().nth(which % simple.counts.len()).unwrap();
                    let count = simple.counts[&id] - 1;
                    prop_assert_eq!(allocator.free(BlockId(id)), count == 0);
                    if count == 0 {
                        simple.counts.remove(&id);
                        simple.free.push_back(id);
                    } else {
                        simple.counts.insert(id, count);
                    }
                }
                _ => {}
            }
            allocator.check_invariants();
            prop_assert_eq!(allocator.num_free(), simple.free.len());
            let order: Vec<u32> = allocator.free_blocks().map(|id| id.0).collect();
            prop_assert_eq!(order, simple.free.iter().copied().collect::<Vec<_>>());
            for id in 0..num_blocks as u32 {
                let count = simple.counts.get(&id).copied().unwrap_or(0);
                prop_assert_eq!(allocator.ref_count(BlockId(id)), count);
            }
        }
    }

    #[test]
    fn every_position_has_a_place_of_its_own(
        block_size in 1..20usize,
        numbers in Just((0..12u32).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let table: Vec<BlockId> = numbers.into_iter().map(BlockId).collect();
        let places: std::collections::BTreeSet<(BlockId, usize)> = (0..12 * block_size)
            .map(|position| block_place(&table, block_size, position))
            .collect();
        prop_assert_eq!(places.len(), 12 * block_size);
        prop_assert!(places.iter().all(|(_, place)| *place < block_size));
    }
}

/// A hash that says nothing, one that says little, and the real one.
const HASHES: [fn(&Before, &[TokenId]) -> BlockHash; 3] = [
    |_, _| BlockHash([0; 32]),
    |_, tokens| BlockHash([tokens[0].0 as u8; 32]),
    paged_cache::hash::hash_block,
];

/// What happens to the index.
#[derive(Clone, Debug)]
enum Change {
    /// A text is written into blocks, from the first block that is not there.
    Write(u64, Vec<u32>),
    /// A block is handed out anew.
    Forget(usize),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    // Two tokens and two tenants: nearly everything begins alike.
    let text = prop::collection::vec(0..2u32, 0..9);
    let change = prop_oneof![
        3 => (0..2u64, text).prop_map(|(salt, text)| Change::Write(salt, text)),
        1 => any::<usize>().prop_map(Change::Forget),
    ];
    prop::collection::vec(change, 0..30)
}

const BLOCK_SIZE: usize = 2;
const NUM_BLOCKS: usize = 24;

proptest! {
    /// Every block that is found holds exactly the text that is looked for, with all that stands before it, whatever
    /// the hash returns.
    #[test]
    fn a_found_block_was_computed_for_this_text(
        which in 0..HASHES.len(),
        changes in changes(),
    ) {
        let mut index = PrefixIndex::new(NUM_BLOCKS, BLOCK_SIZE).with_hash(HASHES[which]);
        // The whole text up to the end of each block, and its salt: what the block was computed for.
        let mut contents: Vec<Option<(u64, Vec<u32>)>> = vec![None; NUM_BLOCKS];
        let mut next = 0;
        for change in changes {
            match change {
                Change::Write(salt, text) => {
                    let tokens: Vec<TokenId> = text.iter().copied().map(TokenId).collect();
                    let (mut blocks, mut names) = (Vec::new(), Vec::new());
                    match_prefix(&index, Salt(salt), &tokens, BLOCK_SIZE, &mut blocks, &mut names);
                    for (i, block) in blocks.iter().enumerate() {
                        let upto = text[..(i + 1) * BLOCK_SIZE].to_vec();
                        prop_assert_eq!(&contents[block.index()], &Some((salt, upto)));
                    }
                    let mut before = names.last().map_or(Before::Nothing(Salt(salt)), |name| Before::Block(*name));
                    for i in blocks.len()..text.len() / BLOCK_SIZE {
                        let block = BlockId(next % NUM_BLOCKS as u32);
                        next += 1;
                        index.forget(block);
                        for place in 0..BLOCK_SIZE {
                            index.note_token(block, place, tokens[i * BLOCK_SIZE + place]);
                        }
                        contents[block.index()] = Some((salt, text[..(i + 1) * BLOCK_SIZE].to_vec()));
                        before = Before::Block(index.publish(block, before));
                    }
                }
                Change::Forget(block) => {
                    let block = BlockId((block % NUM_BLOCKS) as u32);
                    index.forget(block);
                    contents[block.index()] = None;
                }
            }
            index.check_invariants();
        }
    }
}
