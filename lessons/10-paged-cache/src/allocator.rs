//! All blocks, free or held, and the number of holders of each.

use crate::block::{Block, BlockId, FreeList};
use crate::exercises::allocate::allocate;

/// Hands out blocks by number and counts their holders. It knows nothing of floats or tokens.
#[derive(Clone, Debug)]
pub struct BlockAllocator {
    blocks: Vec<Block>,
    free_list: FreeList,
}

impl BlockAllocator {
    /// `num_blocks` free blocks, taken in the order of their numbers.
    pub fn new(num_blocks: usize) -> BlockAllocator {
        let mut allocator = BlockAllocator {
            blocks: vec![Block::default(); num_blocks],
            free_list: FreeList::default(),
        };
        for id in (0..num_blocks as u32).map(BlockId) {
            allocator.free_list.push_back(&mut allocator.blocks, id);
        }
        allocator
    }

    /// Number of all blocks, free or held.
    pub fn num_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Number of free blocks.
    pub fn num_free(&self) -> usize {
        self.free_list.len
    }

    /// Number of tables that name a block.
    pub fn ref_count(&self, id: BlockId) -> u32 {
        self.blocks[id.index()].ref_count
    }

    /// Takes `count` blocks, or none; see [`allocate`].
    pub fn allocate(&mut self, count: usize, taken: &mut Vec<BlockId>) -> bool {
        allocate(&mut self.blocks, &mut self.free_list, count, taken)
    }

    /// Adds a reference to a block. A free block leaves the free list: its content is wanted again. Cost: constant.
    pub fn share(&mut self, id: BlockId) {
        if self.blocks[id.index()].ref_count == 0 {
            // On the list it could still be handed out to another sequence.
            self.free_list.remove(&mut self.blocks, id);
        }
        self.blocks[id.index()].ref_count += 1;
    }

    // ANCHOR: free
    /// Drops a reference to a block. With the last one the block goes to the end of the free list. Returns whether it
    /// is free now. Cost: constant.
    ///
    /// # Panics
    /// If the block is free already. A block that is freed twice would later be handed out twice; that is a bug of the
    /// workbook.
    pub fn free(&mut self, id: BlockId) -> bool {
        let block = &mut self.blocks[id.index()];
        assert!(block.ref_count > 0, "{id:?} is freed and has no holder");
        block.ref_count -= 1;
        if block.ref_count > 0 {
            return false;
        }
        // At the end of the list its content can be found again for as long as there are older free blocks to hand out.
        self.free_list.push_back(&mut self.blocks, id);
        true
    }
    // ANCHOR_END: free

    /// The free blocks; the one that is handed out next comes first.
    pub fn free_blocks(&self) -> impl Iterator<Item = BlockId> {
        std::iter::successors(self.free_list.first, |id| self.blocks[id.index()].next)
    }

    /// Checks that the free list visits every block without a holder once, and no other, and that it reads the same
    /// backwards.
    ///
    /// # Panics
    /// When a rule is broken: a bug of the workbook.
    pub fn check_invariants(&self) {
        let mut previous = None;
        let mut num_free = 0;
        for id in self.free_blocks() {
            let block = &self.blocks[id.index()];
            assert_eq!(block.ref_count, 0, "{id:?} is on the free list and held");
            assert_eq!(block.previous, previous, "{id:?}: the way back differs");
            num_free += 1;
            assert!(num_free <= self.blocks.len(), "the free list runs in a circle");
            previous = Some(id);
        }
        assert_eq!(self.free_list.last, previous);
        assert_eq!(self.free_list.len, num_free);
        let held = self.blocks.iter().filter(|block| block.ref_count > 0).count();
        assert_eq!(held + num_free, self.blocks.len(), "a block is neither held nor free");
    }
}
