//! Attention through a block table for a single row: the next piece is prefetched before it is needed.
//!
//! The simple version is [`crate::exercises::attend::attend_blocks`], and it is the oracle of the tests. What this one
//! adds, and why:
//! 1. The processor's own prefetcher follows a run of addresses. A block is a short run, so at its end it would have to
//!    find out anew where reading goes on. The table knows it, so the next piece is prefetched while one is computed.
//!    Tried on two cores with AVX-512, eight sequences of 512: without it blocks of 16 took 1.4 to 2.2 times as long as
//!    one piece of memory, with it 0.7 to 1.1 times.
//! 2. The instruction set is looked up once, not for each piece.
//!
//! It is for rows that decode. Rows of a prompt share their keys, see [`crate::together`].

use crate::block::BlockId;
use crate::pieces::{Piece, pieces};
use generation::lanes;
use layout::simd::Isa;

/// Floats of a cache line.
const LINE: usize = 16;

/// Asks the processor to bring numbers into its cache, and does not wait for them. It changes no value. On other
/// processors than x86-64 it does nothing.
#[inline]
pub fn ask_for(numbers: &[f32]) {
    for line in numbers.chunks(LINE) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: every x86-64 processor has SSE; a prefetch reads nothing and writes nothing that a program can
            // see.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    }
}

/// As [`crate::exercises::attend::attend_blocks`], bit for bit, with the same shapes.
///
/// # Panics
/// As there.
pub fn attend_ahead(
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
    assert_eq!(q.len(), out.len());
    // Once for the row, not once for each piece.
    let isa = Isa::detect();
    let scores = &mut scores[..q.len() / head_dim * context_len];
    let scale = 1.0 / (head_dim as f32).sqrt();
    let numbers = |piece: &Piece| {
        let start = piece.block.index() * block_size * head_dim;
        start..start + piece.len * head_dim
    };
    // ANCHOR: ahead
    let mut keys = pieces(table, block_size, context_len).peekable();
    while let Some(piece) = keys.next() {
        if let Some(next) = keys.peek() {
            ask_for(&k[numbers(next)]);
        }
        let (keys, scores) = (&k[numbers(&piece)], &mut scores[piece.first..]);
        lanes::dots_on(isa, q, head_dim, keys, head_dim, piece.len, scale, scores, context_len);
    }
    // ANCHOR_END: ahead
    let mut values = pieces(table, block_size, context_len).peekable();
    // The first values come into the cache while softmax is computed.
    ask_for(values.peek().map_or(&[], |first| &v[numbers(first)]));
    for weights in scores.chunks_exact_mut(context_len) {
        lanes::softmax_on(isa, weights);
    }
    out.fill(0.0);
    while let Some(piece) = values.next() {
        if let Some(next) = values.peek() {
            ask_for(&v[numbers(next)]);
        }
        let (values, weights) = (&v[numbers(&piece)], &scores[piece.first..]);
        lanes::add_weighted_on(isa, weights, context_len, values, head_dim, piece.len, head_dim, out);
    }
}
