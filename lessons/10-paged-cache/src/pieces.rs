//! A table as pieces: blocks that are neighbours in the text and in memory are read in one go.

use crate::block::BlockId;

/// Most positions of a piece, unless a block is longer: enough to hide a call, and few enough to be asked for while the piece before is computed.
pub const LONGEST: usize = 64;

/// Positions of a sequence that stand one after the other in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first of them.
    pub first: usize,
    /// How many there are.
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
