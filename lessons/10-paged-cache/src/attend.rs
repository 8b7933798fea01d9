//! Attention through a block table.

use crate::block::BlockId;
use generation::lanes;

/// Attends the query heads of one group to the first `context_len` positions of a sequence whose keys and values lie in blocks. Nothing is
/// gathered: each block is read where it is.
///
/// Shapes: `q`, `out` `[group_size, head_dim]`; `k`, `v` one layer `[num_blocks, num_kv_heads, block_size, head_dim]`; `table` names the sequence's
/// blocks in order; `scores` is scratch of at least `group_size * context_len` numbers, `[group_size, context_len]`.
///
/// The bits are those of [`generation::kernels::attend_row`] over the same keys in one piece: a score depends on one key alone, softmax sees all
/// scores in a row, and each output adds its values in ascending order, wherever they lie. Cost: as there, and one call of each kernel a block.
///
/// # Panics
/// If a slice is too short for these shapes, or there is no position.
pub fn attend_blocks(
    q: &[f32],
    k: &[f32],
    v: &[f32],
    table: &[BlockId],
    block_size: usize,
    kv_head: usize,
    num_kv_heads: usize,
    head_dim: usize,
    context_len: usize,
    scores: &mut [f32],
    out: &mut [f32],
) {
    assert!(context_len >= 1, "a row sees at least itself");
    // ANCHOR: ex_10_3
    let scores = &mut scores[..q.len() / head_dim * context_len];
    let scale = 1.0 / (head_dim as f32).sqrt();
    // Of each block that the row sees: where this head stands in it, the first position, and how many the row sees.
    let pieces = || {
        table.iter().enumerate().map_while(move |(i, block)| {
            let first = i * block_size;
            let seen = context_len.saturating_sub(first).min(block_size);
            let place = (block.index() * num_kv_heads + kv_head) * block_size * head_dim;
            (seen > 0).then_some((place, first, seen))
        })
    };
    for (place, first, seen) in pieces() {
        let keys = &k[place..][..seen * head_dim];
        let scores = &mut scores[first..];
        lanes::dots(
            q,
            head_dim,
            keys,
            head_dim,
            seen,
            scale,
            scores,
            context_len,
        );
    }
    for weights in scores.chunks_exact_mut(context_len) {
        lanes::softmax(weights);
    }
    out.fill(0.0);
    for (place, first, seen) in pieces() {
        let values = &v[place..][..seen * head_dim];
        let weights = &scores[first..];
        lanes::add_weighted(weights, context_len, values, head_dim, seen, head_dim, out);
    }
    // ANCHOR_END: ex_10_3
}
