//! Where a position stands.

use crate::block::BlockId;

/// The block that holds a position of a sequence, and the position's place in it.
///
/// `table` names the sequence's blocks in the order of its positions, each holding `block_size` of them. Cost: a
/// division.
///
/// # Panics
/// If the table does not reach so far.
pub fn block_place(table: &[BlockId], block_size: usize, position: usize) -> (BlockId, usize) {
    // ANCHOR: ex_10_1
    (table[position / block_size], position % block_size)
    // ANCHOR_END: ex_10_1
}
