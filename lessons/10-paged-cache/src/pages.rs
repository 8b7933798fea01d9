//! Who holds which blocks. Numbers only; the floats are in [`crate::cache::PagedCache`].
//!
//! ```text
//! admit      pins the blocks that hold the beginning of the text already, and promises the others     crate::joining
//! begin      takes promised blocks for the rows of a pass; a shared block is copied before a write     crate::writing
//! commit     the rows are kept; blocks that became full are published                                  crate::writing
//! release    gives the blocks back, the last one first, so that it is the first to be evicted          crate::leaving
//! ```
//!
//! A promise is a number, not a block: blocks are taken when rows come. Every free block is either promised or can be promised:
//! `num_free >= outstanding + copies` holds between any two calls, and `check_invariants` recounts both.

use crate::allocator::BlockAllocator;
use crate::block::BlockId;
use crate::hash::{HashBlock, Salt};
use crate::prefix::PrefixIndex;
use crate::stats::PageStats;
use crate::table::BlockTable;
use continuous_batching::request::SeqId;
use std::collections::HashMap;
use training::TokenId;

/// What a request wants of memory besides room. To be said between `submit` and the step that admits it; if it is cancelled before, a
/// `release` of its number takes the wish back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// A request with the same prompt and salt, whose blocks it takes over once they are computed. Until then it waits, and in an engine whose waiting
    /// ones do not overtake, so do those behind it.
    pub parent: Option<SeqId>,
    /// With whom it may share by content.
    pub salt: Salt,
}

/// For which tokens a request is promised blocks when it is admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Promise {
    /// For all that it may come to have: who runs can always run on.
    #[default]
    Whole,
    /// For those that are known. More is promised later, by [`Pages::reserve`], or not.
    Known,
}

// ANCHOR: pages
/// The blocks of many sequences.
#[derive(Clone, Debug)]
pub struct Pages {
    pub(crate) block_size: usize,
    pub(crate) max_seq_len: usize,
    pub(crate) promise: Promise,
    pub(crate) allocator: BlockAllocator,
    /// Published blocks; `None`: no block is ever hashed, looked up or shared by content.
    pub(crate) prefix: Option<PrefixIndex>,
    /// Tables of those who hold something, by [`Pages::places`]; the others are kept for their room.
    pub(crate) tables: Vec<BlockTable>,
    pub(crate) places: HashMap<SeqId, usize>,
    pub(crate) unused: Vec<usize>,
    pub(crate) wishes: HashMap<SeqId, Wish>,
    /// Blocks that were promised and not taken yet.
    pub(crate) outstanding: usize,
    /// Copies that may become necessary, by the block that would be copied.
    pub(crate) copies: HashMap<BlockId, usize>,
    /// Their sum.
    pub(crate) num_copies: usize,
    /// `[rows]` of the pass in progress: the table of each row; written by [`Pages::begin`].
    pub(crate) row_tables: Vec<usize>,
    /// Scratch: the text of a request that wants to join.
    pub(crate) text: Vec<TokenId>,
    pub(crate) stats: PageStats,
}
// ANCHOR_END: pages

impl Pages {
    /// `num_blocks` free blocks of `block_size` positions, for sequences of up to `max_seq_len` tokens.
    ///
    /// # Panics
    /// If a block has no room.
    pub fn new(num_blocks: usize, block_size: usize, max_seq_len: usize) -> Pages {
        assert!(block_size >= 1, "a block holds at least one position");
        Pages {
            block_size,
            max_seq_len: max_seq_len.min(num_blocks * block_size),
            promise: Promise::default(),
            allocator: BlockAllocator::new(num_blocks),
            prefix: Some(PrefixIndex::new(num_blocks, block_size)),
            tables: Vec::new(),
            places: HashMap::new(),
            unused: Vec::new(),
            wishes: HashMap::new(),
            outstanding: 0,
            copies: HashMap::new(),
            num_copies: 0,
            row_tables: Vec::new(),
            text: Vec::new(),
            stats: PageStats::default(),
        }
    }

    /// The same without sharing by content: no hash is computed, nothing is published.
    pub fn without_prefix_cache(self) -> Pages {
        Pages { prefix: None, ..self }
    }

    /// The same with another promise at admission.
    pub fn promising(self, promise: Promise) -> Pages {
        Pages { promise, ..self }
    }

    /// The same with another hash, for tests; see [`PrefixIndex::with_hash`].
    pub fn with_hash(self, hash: HashBlock) -> Pages {
        Pages {
            prefix: self.prefix.map(|prefix| prefix.with_hash(hash)),
            ..self
        }
    }

    /// Says what a request wants; see [`Wish`]. To want nothing is to have no wish.
    pub fn wish(&mut self, id: SeqId, wish: Wish) {
        match wish == Wish::default() {
            true => self.wishes.remove(&id),
            false => self.wishes.insert(id, wish),
        };
    }

    /// What a request that does not hold anything yet was said to want.
    pub fn wish_of(&self, id: SeqId) -> Option<Wish> {
        self.wishes.get(&id).copied()
    }

    /// Positions of one block.
    pub fn block_size(&self) -> usize {
        self.block_size
    }

    /// The allocator, to look at.
    pub fn allocator(&self) -> &BlockAllocator {
        &self.allocator
    }

    /// The published blocks, to look at.
    pub fn prefix(&self) -> Option<&PrefixIndex> {
        self.prefix.as_ref()
    }

    /// What a sequence holds.
    pub fn table(&self, id: SeqId) -> Option<&BlockTable> {
        self.places.get(&id).map(|place| &self.tables[*place])
    }

    /// The table of a row of the pass in progress.
    pub fn table_of_row(&self, row: usize) -> &BlockTable {
        &self.tables[self.row_tables[row]]
    }

    /// Whether two rows of the pass in progress belong to one sequence.
    pub fn are_of_one(&self, row: usize, other: usize) -> bool {
        self.row_tables[row] == self.row_tables[other]
    }

    /// Rows of the pass in progress.
    pub fn num_rows(&self) -> usize {
        self.row_tables.len()
    }

    /// What happened so far.
    pub fn stats(&self) -> PageStats {
        self.stats
    }

    /// Blocks that hold something for somebody.
    pub fn num_held(&self) -> usize {
        self.allocator.num_blocks() - self.allocator.num_free()
    }

    /// Blocks that can be promised to a new request.
    pub fn num_unpromised(&self) -> usize {
        self.allocator.num_free() - self.outstanding - self.num_copies
    }

    /// Positions of a block that somebody may read: those that a holder keeps, or all while it is published. Cost: a look at each table.
    pub fn kept_in(&self, block: BlockId) -> usize {
        let published = |prefix: &PrefixIndex| prefix.is_published(block);
        if self.prefix.as_ref().is_some_and(published) {
            return self.block_size;
        }
        let of_table = |place: &usize| {
            let table = &self.tables[*place];
            let index = table.blocks.iter().position(|held| *held == block)?;
            Some(self.kept_at(table, index))
        };
        self.places.values().filter_map(of_table).max().unwrap_or(0)
    }

    /// Positions that a table keeps in its block number `index`.
    fn kept_at(&self, table: &BlockTable, index: usize) -> usize {
        let before = index * self.block_size;
        table.len.saturating_sub(before).min(self.block_size)
    }

    // ANCHOR: usage
    /// Positions that are kept, each block counted once, as a share of all positions of held blocks; 1 when none is held. Cost: a look at each
    /// entry of each table.
    pub fn usage(&self) -> f64 {
        let mut kept = vec![0; self.allocator.num_blocks()];
        for place in self.places.values() {
            let table = &self.tables[*place];
            for (index, block) in table.blocks.iter().enumerate() {
                let kept = &mut kept[block.index()];
                *kept = self.kept_at(table, index).max(*kept);
            }
        }
        match self.num_held() * self.block_size {
            0 => 1.0,
            room => kept.iter().sum::<usize>() as f64 / room as f64,
        }
    }
    // ANCHOR_END: usage
}
