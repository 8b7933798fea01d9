//! The same loops for several rows at once, over positions that stand in several places.

use super::add_weighted::{AddWeighted, Piece};
use super::dots::Dots;
use layout::simd::Isa;

/// Positions that stand one after the other in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first position of the span.
    pub first: usize,
    /// Index in the slice of keys or values at which the numbers of the first position begin.
    pub start: usize,
    /// Number of positions.
    pub len: usize,
}

/// As [`dots`](super::dots), for the queries of several rows and over keys that stand in several places.
///
/// Shapes: `rows` `[group_size, head_dim]` each; key `i` of a span stands at
/// `keys[start + i * key_stride..][..head_dim]` and is position `first + i`; the score of query `h` of row `r` at
/// position `j` goes to `scores[(r * group_size + h) * score_stride + j]`.
///
/// # Panics
/// If a slice is too short for these shapes, the rows differ in length, or this machine lacks `isa`.
pub fn dots_of_rows_on(
    isa: Isa,
    rows: &[&[f32]],
    head_dim: usize,
    keys: &[f32],
    key_stride: usize,
    spans: &[Span],
    scale: f32,
    scores: &mut [f32],
    score_stride: usize,
) {
    for span in spans {
        let (keys, scores) = (&keys[span.start..], &mut scores[span.first..]);
        isa.run(Dots {
            rows,
            head_dim,
            keys,
            key_stride,
            num_keys: span.len,
            scale,
            scores,
            score_stride,
        });
    }
}

/// As [`add_weighted`](super::add_weighted), over values that stand in several places, span by span.
///
/// Shapes: as there; position `first + i` of a span stands at `values[start + i * value_stride..]`, and its weight at
/// `first + i`.
///
/// # Panics
/// If a slice is too short for these shapes, or this machine lacks `isa`.
pub fn add_weighted_of_spans_on(
    isa: Isa,
    weights: &[f32],
    weight_stride: usize,
    values: &[f32],
    value_stride: usize,
    spans: &[Span],
    head_dim: usize,
    out: &mut [f32],
) {
    // For each group of spans the sums are loaded from `out` and stored there again, which changes no bit.
    for spans in spans.chunks(SPANS_AT_ONCE) {
        let mut pieces = [Piece::default(); SPANS_AT_ONCE];
        for (piece, span) in pieces.iter_mut().zip(spans) {
            *piece = Piece {
                weights: &weights[span.first..],
                values: &values[span.start..],
                len: span.len,
            };
        }
        isa.run(AddWeighted {
            weight_stride,
            value_stride,
            pieces: &pieces[..spans.len()],
            head_dim,
            out,
        });
    }
}

/// Number of spans over which the sums stay in registers.
const SPANS_AT_ONCE: usize = 16;
