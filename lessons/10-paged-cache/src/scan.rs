//! The allocator that one would write first: it looks for a free block from the first block on.
//!
//! It is right, and it is here to be compared with: what it costs depends on how many blocks there are.

use crate::block::BlockId;

/// Marks for all blocks, looked through from the first on.
#[derive(Clone, Debug)]
pub struct ScanningAllocator {
    held: Vec<bool>,
    num_looks: u64,
}

impl ScanningAllocator {
    /// `num_blocks` free blocks.
    pub fn new(num_blocks: usize) -> ScanningAllocator {
        ScanningAllocator {
            held: vec![false; num_blocks],
            num_looks: 0,
        }
    }

    /// Takes the first free block. Cost: a look at each block before it.
    pub fn allocate(&mut self) -> Option<BlockId> {
        let found = self.held.iter().position(|held| !held);
        self.num_looks += found.map_or(self.held.len(), |index| index + 1) as u64;
        let index = found?;
        self.held[index] = true;
        Some(BlockId(index as u32))
    }

    /// Gives a block back.
    ///
    /// # Panics
    /// If the block is free already.
    pub fn free(&mut self, id: BlockId) {
        assert!(self.held[id.index()], "{id:?} is freed and has no holder");
        self.held[id.index()] = false;
    }

    /// Marks looked at so far.
    pub fn num_looks(&self) -> u64 {
        self.num_looks
    }
}
