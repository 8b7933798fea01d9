//! Taking blocks from the free list.

use crate::block::{Block, BlockId, FreeList};

/// Takes `count` blocks from the front of the free list, gives each its first reference and appends their numbers to
/// `taken`. If the list has fewer, nothing changes, and it returns false: some of the blocks are of no use to the
/// request, and others would lack them.
///
/// Cost: constant for each block; nothing is allocated while `taken` has room.
pub fn allocate(blocks: &mut [Block], free: &mut FreeList, count: usize, taken: &mut Vec<BlockId>) -> bool {
    // ANCHOR: ex_10_2
    if count > free.len {
        return false;
    }
    for _ in 0..count {
        let id = free.pop_front(blocks).expect("as many as the list counts");
        blocks[id.index()].ref_count = 1;
        taken.push(id);
    }
    true
    // ANCHOR_END: ex_10_2
}
