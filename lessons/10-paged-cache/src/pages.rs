//! Who holds which blocks: admission, growth, sharing, copying before a write, publishing. Numbers only; the floats are in [`crate::cache::PagedCache`].
//!
//! ```text
//! admit      pins the blocks that hold the beginning of the text already, and promises the others: so whoever runs can run to its end
//! begin      takes promised blocks for the rows of a pass; a block that others read too is copied before it is written
//! commit     the rows are kept; blocks that became full are published
//! release    gives the blocks back, the last one first, so that it is the first to be evicted
//! ```
//!
//! A promise is a number, not a block: blocks are taken when rows come. Every free block is either promised or can be promised:
//! `num_free >= outstanding + copies` holds between any two calls, and [`Pages::check_invariants`] recounts both.

use crate::allocator::BlockAllocator;
use crate::block::BlockId;
use crate::chain::match_prefix;
use crate::hash::Salt;
use crate::hits::usable_blocks;
use crate::prefix::PrefixIndex;
use crate::stats::PageStats;
use crate::table::BlockTable;
use continuous_batching::batch::{Batch, BatchSequence};
use continuous_batching::memory::{Admission, Memory};
use continuous_batching::request::{Request, SeqId};
use kv_cache::CacheError;
use std::collections::HashMap;
use training::TokenId;

/// What a request wants of memory besides room. To be said between `submit` and the step that admits it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// A request with the same prompt, whose blocks it takes over once they are computed.
    pub parent: Option<SeqId>,
    /// With whom it may share.
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
    max_seq_len: usize,
    promise: Promise,
    allocator: BlockAllocator,
    /// Published blocks; `None`: no block is ever named, looked up or shared by content.
    prefix: Option<PrefixIndex>,
    /// Tables of those who hold something, by [`Pages::places`]; the others are kept for their room.
    tables: Vec<BlockTable>,
    places: HashMap<SeqId, usize>,
    unused: Vec<usize>,
    wishes: HashMap<SeqId, Wish>,
    /// Blocks that were promised and not taken yet.
    outstanding: usize,
    /// Copies that may become necessary, by the block that would be copied.
    copies: HashMap<BlockId, usize>,
    num_copies: usize,
    /// `[rows]` of the pass in progress: the table of each row; written by [`Pages::begin`].
    row_tables: Vec<usize>,
    stats: PageStats,
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
            stats: PageStats::default(),
        }
    }

    /// The same without sharing by content: no hash is computed, nothing is published.
    pub fn without_prefix_cache(self) -> Pages {
        Pages {
            prefix: None,
            ..self
        }
    }

    /// The same with another promise at admission.
    pub fn promising(self, promise: Promise) -> Pages {
        Pages { promise, ..self }
    }

    /// Says what a request wants; see [`Wish`].
    pub fn wish(&mut self, id: SeqId, wish: Wish) {
        self.wishes.insert(id, wish);
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
            Some(
                table
                    .len
                    .saturating_sub(index * self.block_size)
                    .min(self.block_size),
            )
        };
        self.places.values().filter_map(of_table).max().unwrap_or(0)
    }

    /// Positions that are kept, each block counted once, as a share of all positions of held blocks; 1 when none is held.
    pub fn usage(&self) -> f64 {
        let held = (0..self.allocator.num_blocks() as u32)
            .map(BlockId)
            .filter(|block| self.allocator.ref_count(*block) > 0);
        let (mut kept, mut room) = (0, 0);
        for block in held {
            kept += self.kept_in(block);
            room += self.block_size;
        }
        if room == 0 {
            1.0
        } else {
            kept as f64 / room as f64
        }
    }

    // ANCHOR: admit
    /// Pins what is there already of a request's text, and promises the blocks that it may still need, all of them or none.
    fn try_admit(&mut self, request: &mut Request) -> Admission {
        let wish = self.wishes.get(&request.id).copied().unwrap_or_default();
        if let Some(parent) = wish.parent.and_then(|parent| self.places.get(&parent)) {
            return match self.tables[*parent].len >= request.prompt.len() {
                true => self.fork(*parent, request),
                false => Admission::NoRoom,
            };
        }
        let place = self.unused.pop().unwrap_or_else(|| {
            self.tables.push(BlockTable::default());
            self.tables.len() - 1
        });
        let promised = self.promised_blocks(request);
        let table = &mut self.tables[place];
        table.clear();
        table.salt = wish.salt;
        let num_tokens = request.num_tokens();
        let mut num_hits = 0;
        if let Some(index) = &self.prefix {
            let tokens: Vec<TokenId> = request.tokens().collect();
            let BlockTable { blocks, hashes, .. } = table;
            match_prefix(index, wish.salt, &tokens, self.block_size, blocks, hashes);
            num_hits = usable_blocks(blocks.len(), num_tokens, self.block_size);
            blocks.truncate(num_hits);
            hashes.truncate(num_hits);
        }
        // Pinned first: what is promised next may not be what was just found.
        for block in &table.blocks {
            self.allocator.share(*block);
        }
        let reserved = self.outstanding + self.num_copies;
        if self.allocator.num_free() < reserved + promised - num_hits {
            for block in table.blocks.drain(..).rev() {
                self.allocator.release(block);
            }
            self.unused.push(place);
            return Admission::NoRoom;
        }
        table.len = num_hits * self.block_size;
        table.promised = promised;
        self.outstanding += promised - num_hits;
        self.places.insert(request.id, place);
        request.num_computed = table.len;
        self.stats
            .admitted(num_tokens, table.len, self.prefix.is_some());
        Admission::Admitted
    }
    // ANCHOR_END: admit

    /// Blocks that a request is promised when it is admitted.
    fn promised_blocks(&self, request: &Request) -> usize {
        let tokens = match self.promise {
            Promise::Whole => {
                (request.prompt.len().saturating_add(request.max_new_tokens)).min(self.max_seq_len)
            }
            Promise::Known => request.num_tokens(),
        };
        tokens.div_ceil(self.block_size)
    }

    /// Promises a sequence blocks for `num_tokens` tokens in all. If there are not so many, nothing changes, and it returns false.
    ///
    /// # Panics
    /// If it holds nothing.
    pub fn reserve(&mut self, id: SeqId, num_tokens: usize) -> bool {
        let table = &self.tables[self.places[&id]];
        let more = num_tokens
            .div_ceil(self.block_size)
            .saturating_sub(table.promised);
        if more > self.num_unpromised() {
            return false;
        }
        self.tables[self.places[&id]].promised += more;
        self.outstanding += more;
        true
    }

    // ANCHOR: fork
    /// Takes over all blocks of a prompt that somebody else has computed. Only the last row is computed again, for its logits; it writes into a block
    /// that both hold, so one copy is promised with it.
    fn fork(&mut self, parent: usize, request: &mut Request) -> Admission {
        let prompt_blocks = request.prompt.len().div_ceil(self.block_size);
        let promised = self.promised_blocks(request);
        if self.num_unpromised() < promised - prompt_blocks + 1 {
            return Admission::NoRoom;
        }
        let parent = &self.tables[parent];
        let full = (request.prompt.len() / self.block_size).min(parent.hashes.len());
        let table = BlockTable {
            blocks: parent.blocks[..prompt_blocks].to_vec(),
            len: request.prompt.len(),
            hashes: parent.hashes[..full].to_vec(),
            salt: parent.salt,
            promised,
        };
        for block in &table.blocks {
            self.allocator.share(*block);
        }
        let written = table.blocks[prompt_blocks - 1];
        *self.copies.entry(written).or_default() += 1;
        self.num_copies += 1;
        self.outstanding += table.outstanding();
        request.num_computed = request.prompt.len() - 1;
        self.stats.forked(request.prompt.len());
        let place = self.unused.pop().unwrap_or(self.tables.len());
        match self.tables.get_mut(place) {
            Some(unused) => *unused = table,
            None => self.tables.push(table),
        }
        self.places.insert(request.id, place);
        Admission::Admitted
    }
    // ANCHOR_END: fork

    /// Makes room for every row of a batch. Blocks that have to be copied before they are written are appended to `copied`, as (from, to).
    ///
    /// # Errors
    /// [`CacheError::Full`], and nothing has changed. It can not happen to requests that were admitted.
    ///
    /// # Panics
    /// If a sequence holds nothing, or its rows would leave a gap.
    pub fn begin(
        &mut self,
        batch: &Batch,
        copied: &mut Vec<(BlockId, BlockId)>,
    ) -> Result<(), CacheError> {
        let unpromised = |sequence| self.unpromised_blocks(batch, sequence);
        if batch.sequences.iter().map(unpromised).sum::<usize>() > self.num_unpromised() {
            return Err(CacheError::Full {
                len: self.num_held() * self.block_size,
                new: batch.num_rows(),
                capacity: self.allocator.num_blocks() * self.block_size,
            });
        }
        self.row_tables.clear();
        for sequence in &batch.sequences {
            let place = self.places[&sequence.id];
            let first = batch.positions[sequence.first_row];
            let end = first + sequence.num_rows;
            self.cut_back(place, first);
            for index in first / self.block_size..self.tables[place].blocks.len() {
                if index * self.block_size < end {
                    self.make_writable(place, index, copied);
                }
            }
            self.grow(place, end.div_ceil(self.block_size));
            self.row_tables
                .extend(std::iter::repeat_n(place, sequence.num_rows));
        }
        Ok(())
    }

    /// Blocks that a sequence's rows would take without a promise. None, unless somebody computes more than was admitted or writes again what is
    /// shared.
    fn unpromised_blocks(&self, batch: &Batch, sequence: &BatchSequence) -> usize {
        let Some(place) = self.places.get(&sequence.id) else {
            panic!("{} holds no blocks", sequence.id);
        };
        let table = &self.tables[*place];
        let first = batch.positions[sequence.first_row];
        assert!(
            first <= table.len,
            "{}: position {first} leaves a gap",
            sequence.id
        );
        let end = (first + sequence.num_rows).div_ceil(self.block_size);
        let written = first / self.block_size..end.min(table.blocks.len());
        let shared = |block: &&BlockId| {
            self.allocator.ref_count(**block) > 1 && !self.copies.contains_key(block)
        };
        let copies = table
            .blocks
            .get(written)
            .map_or(0, |w| w.iter().filter(shared).count());
        end.saturating_sub(table.promised.max(table.blocks.len())) + copies
    }

    /// Forgets positions from `len` on, where a pass is computed again.
    fn cut_back(&mut self, place: usize, len: usize) {
        let table = &mut self.tables[place];
        table.len = len;
        table.hashes.truncate(len / self.block_size);
    }

    // ANCHOR: copy_on_write
    /// A block is written only by the one who holds it alone, and only while it has no name.
    fn make_writable(&mut self, place: usize, index: usize, copied: &mut Vec<(BlockId, BlockId)>) {
        let block = self.tables[place].blocks[index];
        if self.allocator.ref_count(block) == 1 {
            if let Some(prefix) = &mut self.prefix {
                prefix.forget(block);
            }
            return;
        }
        let table = &mut self.tables[place];
        let taken = self.allocator.allocate(1, &mut table.blocks);
        assert!(taken, "a copy was promised when the block was shared");
        let copy = table.blocks.pop().expect("just taken");
        table.blocks[index] = copy;
        if let Some(prefix) = &mut self.prefix {
            self.stats.evictions += u64::from(prefix.forget(copy));
            prefix.copy_tokens(block, copy);
        }
        self.allocator.release(block);
        self.settle_copies(block);
        self.stats.copies += 1;
        copied.push((block, copy));
    }
    // ANCHOR_END: copy_on_write

    /// Of a block that is shared by `n`, at most `n - 1` copies can still become necessary.
    fn settle_copies(&mut self, block: BlockId) {
        let Some(promised) = self.copies.get_mut(&block) else {
            return;
        };
        let most = (self.allocator.ref_count(block) as usize).saturating_sub(1);
        self.num_copies -= promised.saturating_sub(most);
        *promised = (*promised).min(most);
        if *promised == 0 {
            self.copies.remove(&block);
        }
    }

    /// Takes promised blocks until a table has `num_blocks` of them.
    fn grow(&mut self, place: usize, num_blocks: usize) {
        let table = &mut self.tables[place];
        let held = table.blocks.len();
        let missing = num_blocks.saturating_sub(held);
        let taken = self.allocator.allocate(missing, &mut table.blocks);
        assert!(taken, "these blocks were promised");
        // Who was not promised so much takes from what nobody was promised.
        let promised = missing.min(table.promised.saturating_sub(held));
        table.promised = table.promised.max(num_blocks);
        self.outstanding -= promised;
        if let Some(prefix) = &mut self.prefix {
            for block in &table.blocks[held..] {
                self.stats.evictions += u64::from(prefix.forget(*block));
            }
        }
    }

    // ANCHOR: commit
    /// Keeps the rows of a batch: every layer holds them now. Blocks that became full are published.
    pub fn commit(&mut self, batch: &Batch) {
        for sequence in &batch.sequences {
            let place = self.row_tables[sequence.first_row];
            let first = batch.positions[sequence.first_row];
            self.keep(place, first, &batch.tokens[sequence.rows()]);
        }
    }

    /// Keeps tokens of a sequence from position `first` on, whose keys and values are written.
    fn keep(&mut self, place: usize, first: usize, tokens: &[TokenId]) {
        let table = &mut self.tables[place];
        table.len = first + tokens.len();
        let Some(prefix) = &mut self.prefix else {
            return;
        };
        for (token, position) in tokens.iter().zip(first..) {
            let block = table.blocks[position / self.block_size];
            prefix.note_tokens(block, position % self.block_size, &[*token]);
        }
        for index in table.hashes.len()..table.len / self.block_size {
            let block = table.blocks[index];
            let parent = table.hashes.last().copied();
            let hash = prefix.name(parent.as_ref(), table.salt, prefix.tokens(block));
            prefix.publish(block, hash, parent);
            table.hashes.push(hash);
        }
    }
    // ANCHOR_END: commit

    /// Takes blocks for positions that are copied in from elsewhere, up to `len`, and returns how many are kept already. Then the floats are written, and
    /// [`Pages::keep_copied`] ends it.
    ///
    /// # Panics
    /// If the sequence holds nothing, or was not promised so much.
    pub fn begin_copy(&mut self, id: SeqId, len: usize) -> usize {
        let place = self.places[&id];
        self.grow(place, len.div_ceil(self.block_size));
        self.tables[place].len
    }

    /// Keeps the positions that were copied in: `tokens` are those of the whole sequence up to them.
    pub fn keep_copied(&mut self, id: SeqId, tokens: &[TokenId]) {
        let place = self.places[&id];
        let kept = self.tables[place].len;
        self.keep(place, kept, &tokens[kept..]);
    }

    // ANCHOR: release
    /// Gives back all that a sequence holds, each block for itself: what others hold too stays. The last block goes first, so that of a text that
    /// nobody holds any more the end is evicted before the beginning.
    fn give_back(&mut self, id: SeqId) -> bool {
        self.wishes.remove(&id);
        let Some(place) = self.places.remove(&id) else {
            return false;
        };
        let mut table = std::mem::take(&mut self.tables[place]);
        self.outstanding -= table.outstanding();
        for block in table.blocks.drain(..).rev() {
            self.allocator.release(block);
            self.settle_copies(block);
        }
        table.clear();
        self.tables[place] = table;
        self.unused.push(place);
        true
    }
    // ANCHOR_END: release
}

impl Memory for Pages {
    fn max_seq_len(&self) -> usize {
        self.max_seq_len
    }

    fn admit(&mut self, request: &mut Request) -> Admission {
        assert!(
            !self.holds(request.id),
            "{} holds blocks already",
            request.id
        );
        self.try_admit(request)
    }

    fn release(&mut self, id: SeqId) -> bool {
        self.give_back(id)
    }

    fn holds(&self, id: SeqId) -> bool {
        self.places.contains_key(&id)
    }

    fn num_holders(&self) -> usize {
        self.places.len()
    }

    fn check_invariants(&self) {
        self.allocator.check_invariants();
        if let Some(prefix) = &self.prefix {
            prefix.check_invariants();
        }
        let mut references = vec![0; self.allocator.num_blocks()];
        let mut outstanding = 0;
        for place in self.places.values() {
            let table = &self.tables[*place];
            assert!(
                table.len <= table.blocks.len() * self.block_size,
                "{table:?}"
            );
            assert!(
                table.hashes.len() <= table.len / self.block_size,
                "{table:?}"
            );
            outstanding += table.outstanding();
            for block in &table.blocks {
                references[block.index()] += 1;
            }
        }
        for (index, references) in references.iter().enumerate() {
            let id = BlockId(index as u32);
            assert_eq!(self.allocator.ref_count(id), *references, "{id:?}");
        }
        assert_eq!(self.outstanding, outstanding, "promised and not taken");
        assert_eq!(self.num_copies, self.copies.values().sum::<usize>());
        for (block, copies) in &self.copies {
            assert!(
                *copies < self.allocator.ref_count(*block) as usize,
                "{block:?}"
            );
        }
        assert!(
            self.allocator.num_free() >= outstanding + self.num_copies,
            "more is promised than there is"
        );
    }
}
