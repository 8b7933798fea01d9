//! Where the rows of a chunk stand. Functions only; [`RowPlace`] stands in [`crate::place`].

use crate::place::RowPlace;

/// Place of row `row` of a chunk that comes after `num_cached` positions.
///
/// A chunk is any number of new tokens: a whole prompt, a part of one, or the one token of a decode step. Key `j` is visible to row
/// `row` iff `j <= num_cached + row`: everything cached, the chunk's rows before it, and itself. Source: the causal mask of Vaswani et
/// al. 2017, arXiv:1706.03762, section 3.2.3, moved by what is cached.
pub fn row_place(num_cached: usize, row: usize) -> RowPlace {
    // ANCHOR: ex_06_3
    let position = num_cached + row;
    RowPlace {
        position,
        context_len: position + 1,
    }
    // ANCHOR_END: ex_06_3
}
