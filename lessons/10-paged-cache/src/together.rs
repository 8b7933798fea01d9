//! Attention of a sequence's rows through its table.
//!
//! The simple version is [`attend_blocks`], row by row, and it is the oracle of the tests. What this one adds, and why:
//! 1. The rows of a prompt see the same blocks, each row one position more. Row by row, every key passes through the
//!    nearest cache once a row. So the loops are exchanged: the outer one goes over tiles, the inner one over rows, and
//!    all rows but the first find what they read in the nearest cache.
//! 2. A kernel is called once for several blocks; for the scores, also once for all rows. Sixteen positions are too
//!    little work for a call of its own.
//!
//! No bit changes: a score depends on one row and one key, and each output adds its values in ascending order, now with
//! other rows in between. Tried on two cores with AVX-512, a prompt of 512 rows, blocks of 16 in no order: row by row
//! it took 1.6 times as long as over lesson 08's slots, this way 0.96 times. With prefetching as in [`crate::ahead`] it
//! took 1.07 times as long.

use crate::ahead::attend_ahead;
use crate::block::BlockId;
use crate::exercises::attend::attend_blocks;
use crate::tiles::tiles;
use generation::attention::{ATTENTION_ROWS, Attending};
use generation::lanes;
use layout::simd::Isa;

/// As [`attend_blocks`] for each of some rows of a sequence, bit for bit. Each row has the shapes given there; `scores`
/// `[rows, group_size, the longest context_len]` or more.
///
/// # Panics
/// As there; also if there is no row, or there are more rows than a unit has ([`ATTENTION_ROWS`]).
pub fn attend_sequence(
    rows: &mut [Attending<'_>],
    k: &[f32],
    v: &[f32],
    table: &[BlockId],
    block_size: usize,
    head_dim: usize,
    scores: &mut [f32],
) {
    assert!(!rows.is_empty() && rows.len() <= ATTENTION_ROWS);
    let sees = |row: &Attending<'_>| row.context_len >= 1 && row.q.len() == row.out.len();
    assert!(rows.iter().all(sees), "a row sees at least itself");
    let alone = match rows {
        // One block: nothing to look ahead for.
        [row] if row.context_len <= block_size => attend_blocks,
        [_] => attend_ahead,
        _ => return attend_together(rows, k, v, table, block_size, head_dim, scores),
    };
    for row in rows {
        alone(
            row.q,
            k,
            v,
            table,
            block_size,
            head_dim,
            row.context_len,
            scores,
            row.out,
        );
    }
}

fn attend_together(
    rows: &mut [Attending<'_>],
    k: &[f32],
    v: &[f32],
    table: &[BlockId],
    block_size: usize,
    head_dim: usize,
    scores: &mut [f32],
) {
    let isa = Isa::detect();
    let longest = rows.iter().map(|row| row.context_len).max().unwrap_or(0);
    let row_scores = rows.first().map_or(0, |row| row.q.len()) / head_dim * longest;
    let scores = &mut scores[..rows.len() * row_scores];
    let scale = 1.0 / (head_dim as f32).sqrt();
    let mut queries = [&[][..]; ATTENTION_ROWS];
    for (q, row) in queries.iter_mut().zip(&*rows) {
        *q = row.q;
    }
    let queries = &queries[..rows.len()];
    // ANCHOR: together
    for tile in tiles(table, block_size, head_dim, longest) {
        // Scores behind a row's own position are computed too, and never read.
        let spans = tile.spans();
        lanes::dots_of_rows_on(isa, queries, head_dim, k, head_dim, spans, scale, scores, longest);
    }
    for (row, scores) in rows.iter_mut().zip(scores.chunks_exact_mut(row_scores)) {
        for weights in scores.chunks_exact_mut(longest) {
            lanes::softmax_on(isa, &mut weights[..row.context_len]);
        }
        row.out.fill(0.0);
    }
    for tile in tiles(table, block_size, head_dim, longest) {
        for (row, weights) in rows.iter_mut().zip(scores.chunks_exact(row_scores)) {
            // The row's weights end at its own position, so the values behind it are left out.
            let seen;
            let spans = match tile.end() <= row.context_len {
                true => tile.spans(),
                false => {
                    seen = tile.seen_by(row.context_len);
                    seen.spans()
                }
            };
            lanes::add_weighted_of_spans_on(isa, weights, longest, v, head_dim, spans, head_dim, row.out);
        }
    }
    // ANCHOR_END: together
}
