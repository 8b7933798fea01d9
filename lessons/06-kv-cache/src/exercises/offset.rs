//! Exercise 06.3: the place of a row of a chunk.

use crate::place::RowPlace;

/// Place of row `row` of a chunk that comes after `num_cached` positions.
///
/// A chunk is any number of new tokens: a whole prompt, a part of one, or the one token of a decode step. Key `j` is
/// visible to row `row` iff `j <= num_cached + row`: all cached positions, the rows of the chunk before it, and the row
/// itself. Source: the causal mask of Vaswani et al. 2017, arXiv:1706.03762, section 3.2.3, moved by the number of
/// cached positions.
pub fn row_place(num_cached: usize, row: usize) -> RowPlace {
    // ANCHOR: ex_06_3
    let position = num_cached + row;
    // A row sees itself, so it sees one position more than the number of those before it.
    let context_len = position + 1;
    RowPlace { position, context_len }
    // ANCHOR_END: ex_06_3
}
