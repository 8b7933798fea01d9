//! A block: room for the keys and values of a few neighbouring positions, in all layers.

use bytemuck::{Pod, Zeroable};
use lab::ledger;
use serde::{Deserialize, Serialize};

/// The number of a block, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Pod, Zeroable)]
#[serde(transparent)]
#[repr(transparent)]
pub struct BlockId(pub u32);

impl BlockId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

// ANCHOR: block
/// The numbers that belong to a block. Its floats are in [`crate::cache::PagedCache`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Number of tables that name the block. With zero it is on the free list.
    pub ref_count: u32,
    /// The block before it on the free list.
    pub previous: Option<BlockId>,
    /// The block behind it on the free list.
    pub next: Option<BlockId>,
}
// ANCHOR_END: block

// ANCHOR: free_list
/// The blocks without a holder, in the order in which they became free. The list runs through the blocks themselves, in
/// both directions, so that a block can leave it from the middle: its content may be wanted again before the block is
/// handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeList {
    /// The block that is handed out next: it has been free the longest.
    pub first: Option<BlockId>,
    /// The block that became free last.
    pub last: Option<BlockId>,
    /// Number of blocks on the list.
    pub len: usize,
}
// ANCHOR_END: free_list

impl FreeList {
    /// Takes the first block. Cost: constant.
    pub fn pop_front(&mut self, blocks: &mut [Block]) -> Option<BlockId> {
        let first = self.first?;
        self.remove(blocks, first);
        Some(first)
    }

    /// Puts a block at the end. Cost: constant.
    pub fn push_back(&mut self, blocks: &mut [Block], id: BlockId) {
        let touched = 1 + u64::from(self.last.is_some());
        ledger::count(|l| l.add("blocks_touched", touched));
        blocks[id.index()].previous = self.last;
        blocks[id.index()].next = None;
        match self.last {
            Some(last) => blocks[last.index()].next = Some(id),
            None => self.first = Some(id),
        }
        self.last = Some(id);
        self.len += 1;
    }

    /// Takes a block out of any place in the list. Cost: constant.
    pub fn remove(&mut self, blocks: &mut [Block], id: BlockId) {
        let Block { previous, next, .. } = blocks[id.index()];
        let touched = 1 + u64::from(previous.is_some()) + u64::from(next.is_some());
        ledger::count(|l| l.add("blocks_touched", touched));
        // A block at an end of the list has no neighbour there, so the end itself moves.
        match previous {
            Some(previous) => blocks[previous.index()].next = next,
            None => self.first = next,
        }
        match next {
            Some(next) => blocks[next.index()].previous = previous,
            None => self.last = previous,
        }
        // A block off the list points nowhere.
        blocks[id.index()].previous = None;
        blocks[id.index()].next = None;
        self.len -= 1;
    }
}
