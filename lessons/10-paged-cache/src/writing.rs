//! What a pass does to the tables: blocks for its rows, copies of shared blocks before a write, and publishing after it.

use crate::block::BlockId;
use crate::pages::Pages;
use continuous_batching::batch::{Batch, BatchSequence};
use continuous_batching::request::SeqId;
use kv_cache::CacheError;
use training::TokenId;

impl Pages {
    /// Makes room for every row of a batch. Blocks that have to be copied before they are written are appended to `copied`, as (from, to).
    ///
    /// # Errors
    /// [`CacheError::Full`], and nothing has changed. It can not happen to requests that were admitted and compute what they were promised.
    ///
    /// # Panics
    /// If a sequence holds nothing, or its rows would leave a gap.
    pub fn begin(&mut self, batch: &Batch, copied: &mut Vec<(BlockId, BlockId)>) -> Result<(), CacheError> {
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
            self.row_tables.extend(std::iter::repeat_n(place, sequence.num_rows));
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
        assert!(first <= table.len, "{}: position {first} leaves a gap", sequence.id);
        let end = (first + sequence.num_rows).div_ceil(self.block_size);
        let written = first / self.block_size..end.min(table.blocks.len());
        let shared = |block: &&BlockId| self.allocator.ref_count(**block) > 1 && !self.copies.contains_key(block);
        let copies = table.blocks.get(written).map_or(0, |w| w.iter().filter(shared).count());
        end.saturating_sub(table.promised.max(table.blocks.len())) + copies
    }

    /// Forgets positions from `len` on, where a pass is computed again.
    fn cut_back(&mut self, place: usize, len: usize) {
        let table = &mut self.tables[place];
        table.len = len;
        table.names.truncate(len / self.block_size);
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
        // This was one of the copies that were promised.
        if let Some(promised) = self.copies.get_mut(&block) {
            *promised -= 1;
            self.num_copies -= 1;
        }
        self.allocator.release(block);
        self.settle_copies(block);
        self.stats.copies += 1;
        copied.push((block, copy));
    }
    // ANCHOR_END: copy_on_write

    /// Of a block that is shared by `n`, at most `n - 1` copies can still become necessary.
    pub(crate) fn settle_copies(&mut self, block: BlockId) {
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
        // Which blocks are taken, the list decides; in ascending order neighbours come to stand beside each other, and are read as one piece.
        table.blocks[held..].sort_unstable();
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
            prefix.note_token(block, position % self.block_size, *token);
        }
        for index in table.names.len()..table.len / self.block_size {
            let name = prefix.publish(table.blocks[index], table.before_next_name());
            table.names.push(name);
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
        let num_blocks = len.div_ceil(self.block_size);
        assert!(
            num_blocks <= self.tables[place].promised,
            "{id} was not promised {num_blocks} blocks"
        );
        self.grow(place, num_blocks);
        self.tables[place].len
    }

    /// Keeps the positions that were copied in: `tokens` are those of the whole sequence up to them.
    pub fn keep_copied(&mut self, id: SeqId, tokens: &[TokenId]) {
        let place = self.places[&id];
        let kept = self.tables[place].len;
        self.keep(place, kept, &tokens[kept..]);
    }
}
