//! Which sequence holds which blocks. Numbers only; the floats are in [`crate::cache::PagedCache`].
//!
//! ```text
//! admit           shares the blocks that hold the beginning of the text already, takes the others     crate::admit
//! grow            takes a block when the text reaches the next one
//! note_computed   the rows of a pass are written; blocks that became full are published
//! free            drops the references, last block first, so that it is evicted first
//! ```
//!
//! A block that is written has exactly one holder and no name: shared blocks are full, and a sequence that would write
//! into a shared one gets a copy of it at its admission.

use crate::allocator::BlockAllocator;
use crate::block::BlockId;
use crate::hash::HashBlock;
use crate::prefix::PrefixIndex;
use crate::sharing::Shares;
use crate::stats::BlockStats;
use crate::table::BlockTable;
use continuous_batching::memory::{Admission, Memory};
use continuous_batching::request::{Request, SeqId};
use std::collections::HashMap;
use training::TokenId;

/// The tokens for which there has to be room when a request is admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reserve {
    /// For all tokens that the request may come to have: a running request can always run on.
    #[default]
    Whole,
    /// For the tokens that are known. Growing may fail later, so the scheduler has to preempt then; `FirstCome` panics.
    Known,
}

// ANCHOR: manager
/// The blocks of many sequences.
#[derive(Clone, Debug)]
pub struct BlockManager {
    pub(crate) block_size: usize,
    pub(crate) max_seq_len: usize,
    pub(crate) reserve: Reserve,
    pub(crate) allocator: BlockAllocator,
    /// Published blocks. With `None` no block is ever hashed, looked up or shared by content.
    pub(crate) prefix: Option<PrefixIndex>,
    /// Tables of the admitted sequences.
    pub(crate) tables: HashMap<SeqId, BlockTable>,
    /// Empty tables, kept for their allocated room.
    pub(crate) unused: Vec<BlockTable>,
    /// Number of blocks that admitted sequences have reserved and not taken, over all tables. Always at most the number
    /// of free blocks.
    pub(crate) num_reserved: usize,
    /// Copies that the next pass makes first, as (from, to).
    pub(crate) copies: Vec<(u32, u32)>,
    /// Scratch: the text of a request that is to be admitted.
    pub(crate) text: Vec<TokenId>,
    pub(crate) stats: BlockStats,
}
// ANCHOR_END: manager

impl BlockManager {
    /// `num_blocks` free blocks of `block_size` positions, for sequences of up to `max_seq_len` tokens.
    ///
    /// # Panics
    /// If a block has no position.
    pub fn new(num_blocks: usize, block_size: usize, max_seq_len: usize) -> BlockManager {
        assert!(block_size >= 1, "a block holds at least one position");
        BlockManager {
            block_size,
            // A longer text would wait for ever for blocks that do not exist.
            max_seq_len: max_seq_len.min(num_blocks * block_size),
            reserve: Reserve::default(),
            allocator: BlockAllocator::new(num_blocks),
            prefix: Some(PrefixIndex::new(num_blocks, block_size)),
            tables: HashMap::new(),
            unused: Vec::new(),
            num_reserved: 0,
            copies: Vec::new(),
            text: Vec::new(),
            stats: BlockStats::default(),
        }
    }

    /// The same without sharing by content: no hash is computed and no block is published.
    pub fn without_prefix_cache(self) -> BlockManager {
        BlockManager { prefix: None, ..self }
    }

    /// The same with another rule of admission.
    pub fn reserving(self, reserve: Reserve) -> BlockManager {
        BlockManager { reserve, ..self }
    }

    /// The same with another hash, for tests; see [`PrefixIndex::with_hash`].
    pub fn with_hash(self, hash: HashBlock) -> BlockManager {
        let prefix = self.prefix.map(|prefix| prefix.with_hash(hash));
        BlockManager { prefix, ..self }
    }

    /// Number of positions in one block.
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
        self.tables.get(&id)
    }

    /// Counts since the manager was made.
    pub fn stats(&self) -> BlockStats {
        self.stats
    }

    /// Number of blocks that at least one sequence holds.
    pub fn num_held(&self) -> usize {
        self.allocator.num_blocks() - self.allocator.num_free()
    }

    /// Number of free blocks that no sequence has reserved.
    pub fn num_available(&self) -> usize {
        // While a request is being admitted, free blocks that it shares may leave fewer than are reserved; it is
        // refused then.
        self.allocator.num_free().saturating_sub(self.num_reserved)
    }

    /// Adds a copy behind those that were noted before. The next pass makes them in this order, before its first row.
    pub fn copy_first(&mut self, from: u32, to: u32) {
        self.copies.push((from, to));
    }

    // ANCHOR: grow
    /// Takes blocks until a table has `num_blocks` of them, or takes none and returns false. It never fails for want of
    /// blocks that were reserved for the sequence.
    pub(crate) fn take_blocks(&mut self, table: &mut BlockTable, num_blocks: usize) -> bool {
        let held = table.blocks.len();
        let missing = num_blocks.saturating_sub(held);
        // The first blocks that are missing come out of the reservation, the rest from what is available.
        let reserved = missing.min(table.num_to_come());
        // Reserved blocks are not counted as available, so only what goes beyond the own reservation is compared.
        if missing - reserved > self.num_available() {
            return false;
        }
        let taken = self.allocator.allocate(missing, &mut table.blocks);
        assert!(taken, "reserved blocks are free blocks");
        self.num_reserved -= reserved;
        // In ascending order neighbours in the text are often neighbours in memory, and are then read as one piece.
        table.blocks[held..].sort_unstable();
        if let Some(prefix) = &mut self.prefix {
            for block in &table.blocks[held..] {
                // Its old content is about to be overwritten, so it must not be found any more.
                self.stats.evictions += u64::from(prefix.forget(*block));
            }
        }
        true
    }
    // ANCHOR_END: grow

    // ANCHOR: publish
    /// Notes that the first `num_computed` tokens of a sequence are written, and publishes the blocks that became full.
    fn publish<X>(&mut self, request: &Request<X>) {
        let table = self
            .tables
            .get_mut(&request.id)
            .expect("a computed sequence holds blocks");
        // Only the rows of this pass are new.
        let first = table.len;
        table.len = request.num_computed;
        // Without a prefix cache only the length is noted.
        let Some(prefix) = &mut self.prefix else {
            return;
        };
        for (token, position) in request.tokens().skip(first).zip(first..request.num_computed) {
            let block = table.blocks[position / self.block_size];
            prefix.note_token(block, position % self.block_size, token);
        }
        // A block is named after the one before it, so names are given in order.
        for index in table.names.len()..table.len / self.block_size {
            let name = prefix.publish(table.blocks[index], table.before_next_name());
            table.names.push(name);
        }
    }
    // ANCHOR_END: publish

    // ANCHOR: free
    /// Drops a sequence's reference to each of its blocks.
    fn drop_table(&mut self, id: SeqId) -> bool {
        let Some(table) = self.tables.remove(&id) else {
            return false;
        };
        // What it reserved and never took is available to other sequences again.
        self.num_reserved -= table.num_to_come();
        self.drop_references(table);
        true
    }

    /// Drops a table's reference to each of its blocks; blocks that other sequences hold too stay. The last block goes
    /// first, so that the end of a text is evicted before its beginning.
    pub(crate) fn drop_references(&mut self, mut table: BlockTable) {
        for block in table.blocks.drain(..).rev() {
            self.allocator.free(block);
        }
        table.clear();
        // Kept for its allocated room: the next sequence need not allocate.
        self.unused.push(table);
    }
    // ANCHOR_END: free

    /// Number of positions of a block that may be read: those that a holder has written, or all while the block is
    /// published. Cost: a look at each table.
    pub fn kept_in(&self, block: BlockId) -> usize {
        let is_published = |prefix: &PrefixIndex| prefix.is_published(block);
        if self.prefix.as_ref().is_some_and(is_published) {
            return self.block_size;
        }
        let of_table = |table: &BlockTable| {
            let index = table.blocks.iter().position(|held| *held == block)?;
            Some(self.kept_at(table, index))
        };
        self.tables.values().filter_map(of_table).max().unwrap_or(0)
    }

    /// Number of written positions in block `index` of a table.
    fn kept_at(&self, table: &BlockTable, index: usize) -> usize {
        let before = index * self.block_size;
        table.len.saturating_sub(before).min(self.block_size)
    }

    // ANCHOR: usage
    /// Written positions, each block counted once, as a share of all positions of held blocks; 1 when no block is held.
    /// Cost: a look at each entry of each table.
    pub fn usage(&self) -> f64 {
        let mut kept = vec![0; self.allocator.num_blocks()];
        for table in self.tables.values() {
            for (index, block) in table.blocks.iter().enumerate() {
                // A shared block is met once in each table, and counts once.
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

impl<X: Shares> Memory<X> for BlockManager {
    fn max_seq_len(&self) -> usize {
        self.max_seq_len
    }

    fn admit(&mut self, request: &mut Request<X>) -> Admission {
        assert!(
            !self.tables.contains_key(&request.id),
            "{} holds blocks already",
            request.id
        );
        self.try_admit(request)
    }

    fn grow(&mut self, id: SeqId, num_tokens: usize) -> bool {
        let entry = self.tables.get_mut(&id).expect("an admitted sequence holds blocks");
        // Out of the map for a moment, as `take_blocks` borrows the whole manager.
        let mut table = std::mem::take(entry);
        let has_room = self.take_blocks(&mut table, num_tokens.div_ceil(self.block_size));
        self.tables.insert(id, table);
        has_room
    }

    fn note_computed(&mut self, request: &Request<X>) {
        self.publish(request);
    }

    fn free(&mut self, id: SeqId) -> bool {
        self.drop_table(id)
    }

    fn holds(&self, id: SeqId) -> bool {
        self.tables.contains_key(&id)
    }

    fn num_holders(&self) -> usize {
        self.tables.len()
    }

    fn write_table(&self, id: SeqId, table: &mut Vec<u32>) {
        table.extend(self.tables[&id].blocks.iter().map(|block| block.0));
    }

    fn take_copies(&mut self, copies: &mut Vec<(u32, u32)>) {
        copies.append(&mut self.copies);
    }

    fn check_invariants(&self) {
        self.allocator.check_invariants();
        if let Some(prefix) = &self.prefix {
            prefix.check_invariants();
        }
        let mut references = vec![0; self.allocator.num_blocks()];
        for table in self.tables.values() {
            assert!(table.len <= table.blocks.len() * self.block_size, "{table:?}");
            assert!(table.names.len() <= table.len / self.block_size, "{table:?}");
            // A block that stands twice in a table would be written at two positions and freed twice.
            let mut own = table.blocks.clone();
            own.sort();
            own.dedup();
            assert_eq!(own.len(), table.blocks.len(), "a block twice: {table:?}");
            for block in own {
                references[block.index()] += 1;
            }
            // The next token is written into this block.
            if let Some(block) = table.blocks.get(table.len / self.block_size) {
                assert_eq!(
                    self.allocator.ref_count(*block),
                    1,
                    "{block:?} would be written and is shared"
                );
                let is_published = |prefix: &PrefixIndex| prefix.is_published(*block);
                assert!(
                    !self.prefix.as_ref().is_some_and(is_published),
                    "{block:?} would be written and has a name"
                );
            }
        }
        // Only tables hold references: a count that is too high leaks the block, one that is too low frees it in use.
        for (index, references) in references.iter().enumerate() {
            let block = BlockId(index as u32);
            assert_eq!(self.allocator.ref_count(block), *references, "{block:?}");
        }
        assert!(
            self.unused.iter().all(|table| *table == BlockTable::default()),
            "an unused table is not empty"
        );
        let reserved: usize = self.tables.values().map(BlockTable::num_to_come).sum();
        assert_eq!(self.num_reserved, reserved, "blocks that are reserved and not taken");
        assert!(
            reserved <= self.allocator.num_free(),
            "more blocks are reserved than are free"
        );
    }
}
