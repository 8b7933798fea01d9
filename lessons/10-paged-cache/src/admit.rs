//! Which requests may join: blocks that hold the beginning of a request's text already are shared, and the others are
//! taken, all of them or none.

use crate::block_manager::{BlockManager, Reserve};
use crate::exercises::chain::match_prefix;
use crate::exercises::hits::usable_blocks;
use crate::sharing::{Shares, Sharing};
use crate::table::BlockTable;
use continuous_batching::memory::Admission;
use continuous_batching::request::{Request, SeqId};

impl BlockManager {
    // ANCHOR: admit
    /// Gives a request a table with blocks for all of its known tokens, or takes nothing.
    pub(crate) fn try_admit<X: Shares>(&mut self, request: &mut Request<X>) -> Admission {
        let sharing = request.attached.sharing();
        let parent = self.parent(request, sharing);
        if parent.is_some_and(|parent| self.tables[&parent].len < request.prompt.len()) {
            // The prompt is being computed. To compute it here too would cost more than to wait.
            return Admission::NoRoom;
        }
        let mut table = self.unused.pop().unwrap_or_default();
        table.salt = sharing.salt;
        match parent {
            Some(parent) => self.share_with_parent(parent, &mut table),
            None => self.share_by_content(request, &mut table),
        }
        // Shared first, taken afterwards: a shared block is no longer free, so the blocks that are taken can not be
        // those that were just found.
        if !self.take_for(request, &mut table) {
            self.drop_references(table);
            return Admission::NoRoom;
        }
        if let Some(parent) = parent {
            self.copy_last_block(parent, &table);
        }
        // Rows before this one are in memory, so the engine begins behind them.
        request.num_computed = table.len;
        self.stats
            .admitted(request.num_tokens(), table.len, self.prefix.is_some(), parent.is_some());
        // Only kept to be compared with the prompts of later children.
        table.prompt.extend_from_slice(&request.prompt);
        self.tables.insert(request.id, table);
        Admission::Admitted
    }
    // ANCHOR_END: admit

    /// The parent of a request, if it still holds blocks, for the same prompt and with the same salt. A parent with
    /// another text would show this request the keys of that text.
    fn parent<X>(&self, request: &Request<X>, sharing: Sharing) -> Option<SeqId> {
        let table = self.tables.get(&sharing.parent?)?;
        let same = table.prompt == request.prompt && table.salt == sharing.salt;
        same.then_some(sharing.parent).flatten()
    }

    /// Shares the published blocks that hold the beginning of a request's text.
    fn share_by_content<X>(&mut self, request: &Request<X>, table: &mut BlockTable) {
        let Some(index) = &self.prefix else {
            return;
        };
        // Prompt and output: after a preemption the output is looked up as well.
        self.text.clear();
        self.text.extend(request.tokens());
        let BlockTable { blocks, names, .. } = table;
        match_prefix(index, table.salt, &self.text, self.block_size, blocks, names);
        // At least the last token is left over, as its logits are wanted.
        let num_hits = usable_blocks(blocks.len(), self.text.len(), self.block_size);
        blocks.truncate(num_hits);
        names.truncate(num_hits);
        // A reference for each: a found block may be free, and could be handed out, even to this request.
        for block in blocks {
            self.allocator.share(*block);
        }
        table.len = num_hits * self.block_size;
    }

    // ANCHOR: fork
    /// Shares the parent's blocks of the prompt, except the one that holds its last token. The last token of the prompt
    /// is computed again, for its logits, and is written into the last block; [`BlockManager::copy_last_block`] gives
    /// the child a block of its own for it.
    fn share_with_parent(&mut self, parent: SeqId, table: &mut BlockTable) {
        let parent = &self.tables[&parent];
        table.len = parent.prompt.len() - 1;
        let num_shared = table.len / self.block_size;
        table.blocks.extend_from_slice(&parent.blocks[..num_shared]);
        // The names too: the child's next full block is named after the last of them.
        table
            .names
            .extend_from_slice(&parent.names[..num_shared.min(parent.names.len())]);
        for block in &table.blocks {
            self.allocator.share(*block);
        }
    }

    /// Copies what the parent's last block of the prompt holds before the last token. Sharing ends here, at the fork,
    /// so that no pass ever meets a shared block that it has to write.
    fn copy_last_block(&mut self, parent: SeqId, table: &BlockTable) {
        if table.len.is_multiple_of(self.block_size) {
            return; // The last token stands first in its block: nothing before it is to be copied.
        }
        let index = table.len / self.block_size;
        let (from, to) = (self.tables[&parent].blocks[index], table.blocks[index]);
        self.copy_first(from.0, to.0);
        if let Some(prefix) = &mut self.prefix {
            prefix.copy_tokens(from, to);
        }
        self.stats.copies += 1;
    }
    // ANCHOR_END: fork

    /// Takes the blocks of a request's known tokens that are not shared. With [`Reserve::Whole`] it also reserves the
    /// blocks of the tokens to come. Returns false, and takes nothing, if there are not enough.
    fn take_for<X>(&mut self, request: &Request<X>, table: &mut BlockTable) -> bool {
        let known = request.num_tokens().div_ceil(self.block_size);
        let in_all = match self.reserve {
            Reserve::Known => known,
            Reserve::Whole => {
                let most = request.prompt.len().saturating_add(request.max_new_tokens);
                most.min(self.max_seq_len).div_ceil(self.block_size).max(known)
            }
        };
        if in_all - table.blocks.len() > self.num_available() {
            return false;
        }
        if self.reserve == Reserve::Whole {
            // Before blocks are taken: `take_blocks` draws them from this reservation.
            table.reserved = in_all;
            self.num_reserved += table.num_to_come();
        }
        self.take_blocks(table, known)
    }
}
