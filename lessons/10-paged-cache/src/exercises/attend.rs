//! Attention through a block table.
//!
//! ```text
//! for each piece of the table:   scores of its keys
//! softmax over all scores
//! for each piece of the table:   out += its weighted values
//! ```
//!
//! Nothing is gathered: each block is read where it is.

use crate::block::BlockId;
use crate::pieces::pieces;
use generation::lanes;

/// Attends the query heads of one group to the first `context_len` positions of a sequence whose keys and values lie in
/// blocks.
///
/// Shapes: `q`, `out` `[group_size, head_dim]`; `k`, `v` all blocks of one key head and layer,
/// `[num_blocks, block_size, head_dim]`; `table` names the sequence's blocks in order; `scores` is scratch of at least
/// `group_size * context_len` numbers, `[group_size, context_len]`.
///
/// The bits are those of [`generation::kernels::attend_row`] over the same keys in one piece: a score depends on one
/// key alone, softmax sees all scores in a row, and each output adds its values in ascending order, wherever they lie.
/// Cost: as there, and one call of each kernel for each piece ([`crate::pieces`]).
///
/// # Panics
/// If a slice is too short for these shapes, or there is no position.
pub fn attend_blocks(
    q: &[f32],
    k: &[f32],
    v: &[f32],
    table: &[BlockId],
    block_size: usize,
    head_dim: usize,
    context_len: usize,
    scores: &mut [f32],
    out: &mut [f32],
) {
    assert!(context_len >= 1, "a row sees at least itself");
    assert!(table.len() * block_size >= context_len, "a block is missing");
    assert_eq!(q.len(), out.len());
    // ANCHOR: ex_10_3
    let scores = &mut scores[..q.len() / head_dim * context_len];
    let scale = 1.0 / (head_dim as f32).sqrt();
    for piece in pieces(table, block_size, context_len) {
        let keys = &k[piece.block.index() * block_size * head_dim..];
        let scores = &mut scores[piece.first..];
        lanes::dots(q, head_dim, keys, head_dim, piece.len, scale, scores, context_len);
    }
    // Only now: softmax needs the scores of all pieces of a row.
    for weights in scores.chunks_exact_mut(context_len) {
        lanes::softmax(weights);
    }
    out.fill(0.0);
    for piece in pieces(table, block_size, context_len) {
        let values = &v[piece.block.index() * block_size * head_dim..];
        let weights = &scores[piece.first..];
        lanes::add_weighted(weights, context_len, values, head_dim, piece.len, head_dim, out);
    }
    // ANCHOR_END: ex_10_3
}
