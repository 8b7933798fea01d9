//! A table as pieces: blocks that are neighbours in the text and in memory are read in one go.

use crate::block::BlockId;

/// Most positions of a piece, unless a block is longer: enough to hide the cost of a call, and few enough to be
/// prefetched while the piece before is computed.
pub const LONGEST: usize = 64;

/// Positions of a sequence that stand one after the other in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first of these positions.
    pub first: usize,
    /// Number of positions.
    pub len: usize,
    /// The block that it begins with.
    pub block: BlockId,
}

/// The first `context_len` positions of a sequence in pieces, in order.
///
/// # Panics
/// When it comes to a block that the table lacks.
pub fn pieces(table: &[BlockId], block_size: usize, context_len: usize) -> impl Iterator<Item = Piece> {
    let num_blocks = context_len.div_ceil(block_size);
    let mut next = 0;
    std::iter::from_fn(move || {
        if next == num_blocks {
            return None;
        }
        let begin = next;
        let most = (LONGEST / block_size).clamp(1, num_blocks - begin);
        // A piece goes on while the next block of the text is also the next one in memory.
        let pairs = table[begin..begin + most].windows(2);
        next += 1 + pairs.take_while(|pair| pair[1].0 == pair[0].0 + 1).count();
        let first = begin * block_size;
        Some(Piece {
            first,
            len: context_len.min(next * block_size) - first,
            block: table[begin],
        })
    })
}
