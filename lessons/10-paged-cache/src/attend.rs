//! Attention through a block table.
//!
//! ```text
//! for each block that the row sees:   scores of its keys
//! softmax over all scores
//! for each block that the row sees:   out += its weighted values
//! ```
//!
//! Nothing is gathered: each block is read where it is. What the code adds, and why:
//! 1. The processor's own prefetcher follows a run of addresses. A block is a short run, so at its end it would have to find out anew where reading
//!    goes on; the table knows. While one piece is computed, the next one is asked for ([`crate::ahead`]). Tried on two cores with AVX-512, eight
//!    sequences of 512: without it blocks of 16 took 1.4 to 2.2 times as long as one piece of memory, with it 0.7 to 1.1 times.
//! 2. Blocks that are neighbours in the table and in memory are one piece, up to [`PIECE`] positions: fewer calls. A prompt often gets such blocks.
//! 3. The instruction set is looked up once, not for each piece.

use crate::ahead::ask_for;
use crate::block::BlockId;
use generation::lanes;
use layout::simd::Isa;

/// Most positions that are handed to a kernel at once: enough to hide the call, and few enough to be asked for while the piece before is computed.
pub const PIECE: usize = 64;

/// Attends the query heads of one group to the first `context_len` positions of a sequence whose keys and values lie in blocks.
///
/// Shapes: `q`, `out` `[group_size, head_dim]`; `k`, `v` all blocks of one key head and layer, `[num_blocks, block_size, head_dim]`; `table` names the
/// sequence's blocks in order; `scores` is scratch of at least `group_size * context_len` numbers, `[group_size, context_len]`.
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
    head_dim: usize,
    context_len: usize,
    scores: &mut [f32],
    out: &mut [f32],
) {
    assert!(context_len >= 1, "a row sees at least itself");
    assert!(
        table.len() * block_size >= context_len,
        "a block is missing"
    );
    assert_eq!(q.len(), out.len());
    // ANCHOR: ex_10_3
    let isa = Isa::detect();
    let scores = &mut scores[..q.len() / head_dim * context_len];
    let scale = 1.0 / (head_dim as f32).sqrt();
    let num_blocks = context_len.div_ceil(block_size);
    // From block i of the table on: the first position, how many the row sees, where they stand, and which block comes next.
    let piece = |i: usize| {
        let most = (PIECE / block_size).clamp(1, num_blocks - i);
        let pairs = table[i..i + most].windows(2);
        let neighbours = pairs.take_while(|pair| pair[1].0 == pair[0].0 + 1).count();
        let (first, next) = (i * block_size, i + 1 + neighbours);
        let seen = context_len.min(next * block_size) - first;
        let place = table[i].index() * block_size * head_dim;
        (first, seen, place..place + seen * head_dim, next)
    };
    let pieces = || {
        let following = |last: &(_, _, _, usize)| (last.3 < num_blocks).then(|| piece(last.3));
        std::iter::successors(Some(piece(0)), following).peekable()
    };
    let mut keys = pieces();
    while let Some((first, seen, place, _)) = keys.next() {
        match keys.peek() {
            Some(next) => ask_for(&k[next.2.clone()]),
            None => ask_for(&v[piece(0).2]),
        }
        let (keys, scores) = (&k[place], &mut scores[first..]);
        lanes::dots_on(
            isa,
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
    let mut values = pieces();
    while let Some((first, seen, place, _)) = values.next() {
        if let Some(next) = values.peek() {
            ask_for(&v[next.2.clone()]);
        }
        let (values, weights) = (&v[place], &scores[first..]);
        lanes::add_weighted_on(
            isa,
            weights,
            context_len,
            values,
            head_dim,
            seen,
            head_dim,
            out,
        );
    }
    // ANCHOR_END: ex_10_3
}
