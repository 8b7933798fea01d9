//! Who may join: what is there already of a request's text is pinned, and the blocks that it may still need are promised, all of them or none.

use crate::chain::match_prefix;
use crate::hits::usable_blocks;
use crate::pages::{Pages, Promise, Wish};
use crate::table::BlockTable;
use continuous_batching::memory::Admission;
use continuous_batching::request::{Request, SeqId};

impl Pages {
    /// Lets a request hold blocks, if there are enough.
    pub(crate) fn try_admit(&mut self, request: &mut Request) -> Admission {
        let wish = self.wishes.get(&request.id).copied().unwrap_or_default();
        match self.parent(request, wish) {
            Some(parent) if self.tables[parent].len < request.prompt.len() => Admission::NoRoom,
            Some(parent) => self.fork(parent, request),
            None => self.begin_text(request, wish),
        }
    }

    // ANCHOR: admit
    /// Pins what is there already of a request's text, and promises the blocks that it may still need, all of them or none.
    fn begin_text(&mut self, request: &mut Request, wish: Wish) -> Admission {
        let promised = self.promised_blocks(request);
        let place = self.unused_place();
        let table = &mut self.tables[place];
        table.salt = wish.salt;
        let mut num_hits = 0;
        if let Some(index) = &self.prefix {
            self.text.clear();
            self.text.extend(request.tokens());
            let BlockTable { blocks, names, .. } = table;
            match_prefix(index, wish.salt, &self.text, self.block_size, blocks, names);
            num_hits = usable_blocks(blocks.len(), self.text.len(), self.block_size);
            blocks.truncate(num_hits);
            names.truncate(num_hits);
        }
        // Pinned first: what is promised next may not be what was just found.
        for block in &table.blocks {
            self.allocator.share(*block);
        }
        let reserved = self.outstanding + self.num_copies;
        if self.allocator.num_free() < reserved + promised - num_hits {
            for block in table.blocks.iter().rev() {
                self.allocator.release(*block);
            }
            table.clear();
            self.unused.push(place);
            return Admission::NoRoom;
        }
        table.len = num_hits * self.block_size;
        table.promised = promised;
        table.prompt.extend_from_slice(&request.prompt);
        self.outstanding += promised - num_hits;
        self.places.insert(request.id, place);
        request.num_computed = num_hits * self.block_size;
        let (looked, hits) = (request.num_tokens(), request.num_computed);
        self.stats.admitted(looked, hits, self.prefix.is_some());
        Admission::Admitted
    }
    // ANCHOR_END: admit

    /// An empty table that nobody uses.
    fn unused_place(&mut self) -> usize {
        self.unused.pop().unwrap_or_else(|| {
            self.tables.push(BlockTable::default());
            self.tables.len() - 1
        })
    }

    /// Blocks that a request is promised when it is admitted.
    fn promised_blocks(&self, request: &Request) -> usize {
        let tokens = match self.promise {
            Promise::Whole => {
                let most = request.prompt.len().saturating_add(request.max_new_tokens);
                most.min(self.max_seq_len)
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
        let place = self.places[&id];
        let wanted = num_tokens.div_ceil(self.block_size);
        let more = wanted.saturating_sub(self.tables[place].promised);
        if more > self.num_unpromised() {
            return false;
        }
        self.tables[place].promised += more;
        self.outstanding += more;
        true
    }

    /// The table that a request may take over: that of the one it wishes for, if that one still holds blocks, for the same prompt and with the
    /// same salt. A wish for anything else is not granted, since it would show one request the keys of another.
    fn parent(&self, request: &Request, wish: Wish) -> Option<usize> {
        let place = *self.places.get(&wish.parent?)?;
        let table = &self.tables[place];
        (table.prompt == request.prompt && table.salt == wish.salt).then_some(place)
    }

    // ANCHOR: fork
    /// Takes over all blocks of a prompt that somebody else has computed. Only the last row is computed again, for its logits; it writes into a block
    /// that both hold, so one copy is promised with it.
    fn fork(&mut self, parent: usize, request: &mut Request) -> Admission {
        let prompt_tokens = request.prompt.len();
        let prompt_blocks = prompt_tokens.div_ceil(self.block_size);
        let promised = self.promised_blocks(request);
        if self.num_unpromised() < promised - prompt_blocks + 1 {
            return Admission::NoRoom;
        }
        let place = self.unused_place();
        let mut table = std::mem::take(&mut self.tables[place]);
        let parent = &self.tables[parent];
        let full = (prompt_tokens / self.block_size).min(parent.names.len());
        table.blocks.extend_from_slice(&parent.blocks[..prompt_blocks]);
        table.names.extend_from_slice(&parent.names[..full]);
        table.prompt.extend_from_slice(&parent.prompt);
        table.salt = parent.salt;
        table.len = prompt_tokens;
        table.promised = promised;
        for block in &table.blocks {
            self.allocator.share(*block);
        }
        let written = table.blocks[prompt_blocks - 1];
        *self.copies.entry(written).or_default() += 1;
        self.num_copies += 1;
        self.outstanding += table.outstanding();
        self.tables[place] = table;
        self.places.insert(request.id, place);
        request.num_computed = prompt_tokens - 1;
        self.stats.forked(prompt_tokens);
        Admission::Admitted
    }
    // ANCHOR_END: fork
}
