//! A table as tiles: some blocks that are read in one call of a kernel, wherever they lie.
//!
//! A block of 16 positions is too little work for a call of its own. A tile is enough of it, and with the usual sizes
//! its keys or values of one head still fit the nearest cache: 64 positions of 64 numbers are 16 KiB. Its last piece
//! may bring it to twice that, and a longer block is a tile of its own.

use crate::block::BlockId;
use crate::pieces::pieces;
use generation::lanes::Span;

/// Number of positions at which a tile is full.
const TILE: usize = 64;

/// Most pieces of a tile.
const MAX_SPANS: usize = 8;

/// Positions that follow each other in the text, wherever they lie.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tile {
    spans: [Span; MAX_SPANS],
    len: usize,
}

impl Tile {
    /// The spans of memory in which these positions lie, in the order of the text.
    pub fn spans(&self) -> &[Span] {
        &self.spans[..self.len]
    }

    /// The position behind its last one.
    pub fn end(&self) -> usize {
        let last = self.spans().last();
        last.map_or(0, |span| span.first + span.len)
    }

    /// The part of the tile that belongs to the first `context_len` positions: what a row at the last of these sees.
    pub fn seen_by(mut self, context_len: usize) -> Tile {
        for span in &mut self.spans[..self.len] {
            span.len = context_len.saturating_sub(span.first).min(span.len);
        }
        self
    }
}

/// The first `context_len` positions of a sequence in tiles, in order. Numbers of a key head stand as
/// `[num_blocks, block_size, head_dim]`.
///
/// # Panics
/// When it comes to a block that the table lacks.
pub fn tiles(table: &[BlockId], block_size: usize, head_dim: usize, context_len: usize) -> impl Iterator<Item = Tile> {
    let mut pieces = pieces(table, block_size, context_len);
    std::iter::from_fn(move || {
        let (mut tile, mut positions) = (Tile::default(), 0);
        // A tile is full when it has enough positions, or no place for one more span.
        while tile.len < MAX_SPANS
            && positions < TILE
            && let Some(piece) = pieces.next()
        {
            // The place in the text and the place in memory differ: blocks may lie in any order.
            tile.spans[tile.len] = Span {
                first: piece.first,
                start: piece.block.index() * block_size * head_dim,
                len: piece.len,
            };
            tile.len += 1;
            positions += piece.len;
        }
        (tile.len > 0).then_some(tile)
    })
}
