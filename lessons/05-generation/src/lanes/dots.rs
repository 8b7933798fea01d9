//! Scores: one row of queries against many keys.

use super::{LANES, Span, fold, last_end};
use layout::simd::Isa;

/// Scores of several queries against several keys: `scores[h * score_stride + j] = scale * (q[h] . keys[j])`.
///
/// Shapes: `q` `[num_queries, head_dim]`; key `j` stands at `keys[j * key_stride..][..head_dim]`; `num_queries` is
/// `q.len() / head_dim`. Cost: num_queries * num_keys * head_dim multiply-adds; reads each key once from memory.
///
/// # Panics
/// If a slice is too short for these shapes.
pub fn dots(
    q: &[f32],
    head_dim: usize,
    keys: &[f32],
    key_stride: usize,
    num_keys: usize,
    scale: f32,
    scores: &mut [f32],
    score_stride: usize,
) {
    dots_on(
        Isa::detect(),
        q,
        head_dim,
        keys,
        key_stride,
        num_keys,
        scale,
        scores,
        score_stride,
    );
}

/// [`dots`] with a chosen instruction set (tests and races): one row, and keys in one piece.
///
/// # Panics
/// As the function without a choice, and if this machine lacks `isa`.
pub fn dots_on(
    isa: Isa,
    q: &[f32],
    head_dim: usize,
    keys: &[f32],
    key_stride: usize,
    num_keys: usize,
    scale: f32,
    scores: &mut [f32],
    score_stride: usize,
) {
    dots_of_rows_on(
        isa,
        &[q],
        head_dim,
        keys,
        key_stride,
        &[Span::all(num_keys)],
        scale,
        scores,
        score_stride,
    );
}

for_each_isa! {
    /// As [`dots`], for the queries of several rows and over keys that lie in several places.
    ///
    /// Shapes: `rows` `[group_size, head_dim]` each; key `i` of a span stands at `keys[start + i * key_stride..][..head_dim]` and is position
    /// `first + i`; the score of query `h` of row `r` at position `j` goes to `scores[(r * group_size + h) * score_stride + j]`.
    ///
    /// # Panics
    /// If a slice is too short for these shapes, or the rows differ in length.
    dots_of_rows, dots_of_rows_on, dots_of_rows_avx2, dots_of_rows_plain,
    (rows: &[&[f32]], head_dim: usize, keys: &[f32], key_stride: usize, spans: &[Span], scale: f32, scores: &mut [f32], score_stride: usize),
    x86::dots_of_rows
}

#[inline(always)]
fn dots_of_rows_plain(
    rows: &[&[f32]],
    head_dim: usize,
    keys: &[f32],
    key_stride: usize,
    spans: &[Span],
    scale: f32,
    scores: &mut [f32],
    score_stride: usize,
) {
    let row_len = rows.first().map_or(0, |q| q.len());
    assert!(rows.iter().all(|q| q.len() == row_len));
    for span in spans {
        let keys = &keys[span.start..];
        let mut first = span.first;
        for q in rows {
            dots_plain(
                q,
                head_dim,
                keys,
                key_stride,
                span.len,
                scale,
                &mut scores[first..],
                score_stride,
            );
            first += q.len() / head_dim * score_stride;
        }
    }
}

/// Asserts the shapes of [`dots`]; returns the number of queries.
#[inline(always)]
fn check_dots(
    q: &[f32],
    head_dim: usize,
    keys: &[f32],
    key_stride: usize,
    num_keys: usize,
    scores: &[f32],
    score_stride: usize,
) -> usize {
    let num_queries = q.len() / head_dim;
    assert_eq!(q.len(), num_queries * head_dim);
    assert!(last_end(num_keys, key_stride, head_dim) <= keys.len());
    assert!(last_end(num_queries, score_stride, num_keys) <= scores.len());
    num_queries
}

#[inline(always)]
fn dots_plain(
    q: &[f32],
    head_dim: usize,
    keys: &[f32],
    key_stride: usize,
    num_keys: usize,
    scale: f32,
    scores: &mut [f32],
    score_stride: usize,
) {
    let num_queries = check_dots(q, head_dim, keys, key_stride, num_keys, scores, score_stride);
    for j in 0..num_keys {
        let (k_chunks, k_rest) = keys[j * key_stride..][..head_dim].as_chunks::<LANES>();
        for h in 0..num_queries {
            let (q_chunks, q_rest) = q[h * head_dim..][..head_dim].as_chunks::<LANES>();
            let mut lanes = [0.0f32; LANES];
            for (q, k) in q_chunks.iter().zip(k_chunks) {
                for l in 0..LANES {
                    lanes[l] = q[l].mul_add(k[l], lanes[l]);
                }
            }
            for ((lane, q), k) in lanes.iter_mut().zip(q_rest).zip(k_rest) {
                *lane = q.mul_add(*k, *lane);
            }
            scores[h * score_stride + j] = fold(lanes) * scale;
        }
    }
}

/// The AVX-512 version: sixteen keys at once.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use crate::lanes::first_lanes;
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    pub(super) fn dots_of_rows(
        rows: &[&[f32]],
        head_dim: usize,
        keys: &[f32],
        key_stride: usize,
        spans: &[Span],
        scale: f32,
        scores: &mut [f32],
        score_stride: usize,
    ) {
        let Some(first_row) = rows.first() else {
            return;
        };
        let group_size = first_row.len() / head_dim;
        assert!(rows.iter().all(|q| q.len() == group_size * head_dim));
        for span in spans {
            let (keys, scores) = (&keys[span.start..], &mut scores[span.first..]);
            assert!(last_end(span.len, key_stride, head_dim) <= keys.len());
            assert!(last_end(rows.len() * group_size, score_stride, span.len) <= scores.len());
            // SAFETY: all keys and all score places exist, as asserted.
            unsafe {
                match head_dim {
                    32 => dots_of_span::<2>(rows, 32, keys, key_stride, span.len, scale, scores, score_stride),
                    64 => dots_of_span::<4>(rows, 64, keys, key_stride, span.len, scale, scores, score_stride),
                    128 => dots_of_span::<8>(rows, 128, keys, key_stride, span.len, scale, scores, score_stride),
                    _ => dots_of_span::<0>(rows, head_dim, keys, key_stride, span.len, scale, scores, score_stride),
                }
            }
        }
    }

    /// All queries against keys in one piece. `CHUNKS` is `head_dim / 16` where that is known when compiled, so that a query stays in
    /// registers, else 0.
    ///
    /// # Safety
    /// `num_keys` keys and as many places for the scores of each query exist.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn dots_of_span<const CHUNKS: usize>(
        rows: &[&[f32]],
        head_dim: usize,
        keys: &[f32],
        key_stride: usize,
        num_keys: usize,
        scale: f32,
        scores: &mut [f32],
        score_stride: usize,
    ) {
        let scale = _mm512_set1_ps(scale);
        // Sixteen keys are taken from memory once and stay in the first-level cache for the other queries.
        for first in (0..num_keys).step_by(LANES) {
            let count = LANES.min(num_keys - first);
            let mut place = first;
            for q in rows.iter().flat_map(|row| row.chunks_exact(head_dim)) {
                // SAFETY: see above.
                unsafe {
                    let key = keys.as_ptr().add(first * key_stride);
                    let sums = dots_of_16::<CHUNKS>(q, key, key_stride, count);
                    let to = scores.as_mut_ptr().add(place);
                    _mm512_mask_storeu_ps(to, first_lanes(count), _mm512_mul_ps(sums, scale));
                }
                place += score_stride;
            }
        }
    }

    /// Dot products of `q` with `count` (1 to 16) keys, one a lane; lanes from `count` on repeat the last key.
    ///
    /// # Safety
    /// `count` keys of `q.len()` numbers stand `key_stride` apart from `keys` on, and `CHUNKS` is 0 or `q.len() / 16`.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn dots_of_16<const CHUNKS: usize>(q: &[f32], keys: *const f32, key_stride: usize, count: usize) -> __m512 {
        let chunks = if CHUNKS == 0 { q.len() / LANES } else { CHUNKS };
        let rest = if CHUNKS == 0 { q.len() % LANES } else { 0 };
        let mut acc = [_mm512_setzero_ps(); LANES];
        for (i, acc) in acc.iter_mut().enumerate() {
            // SAFETY: the key exists, and chunks * 16 + rest is its length; the masked load reads `rest` numbers.
            unsafe {
                let key = keys.add(i.min(count - 1) * key_stride);
                for c in 0..chunks {
                    let q = _mm512_loadu_ps(q.as_ptr().add(c * LANES));
                    *acc = _mm512_fmadd_ps(q, _mm512_loadu_ps(key.add(c * LANES)), *acc);
                }
                if rest > 0 {
                    let mask = first_lanes(rest);
                    let q = _mm512_maskz_loadu_ps(mask, q.as_ptr().add(chunks * LANES));
                    let key = _mm512_maskz_loadu_ps(mask, key.add(chunks * LANES));
                    *acc = _mm512_mask3_fmadd_ps(q, key, *acc, mask);
                }
            }
        }
        fold_16(acc)
    }

    /// Folds each of sixteen registers to its sum, in the order of [`fold`]; sum `i` comes out in lane `i`.
    ///
    /// A register is four groups of four lanes. Each step adds one half of the lanes to the other for two registers at once,
    /// so that the result is again a full register: 16 registers, 8, 4, 2, 1.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn fold_16(acc: [__m512; LANES]) -> __m512 {
        // 16 to 8 lanes: groups 0 and 1 plus groups 2 and 3.
        let halve = |a, b| {
            _mm512_add_ps(
                _mm512_shuffle_f32x4::<0b01_00_01_00>(a, b),
                _mm512_shuffle_f32x4::<0b11_10_11_10>(a, b),
            )
        };
        // 8 to 4: of each register's two groups the first plus the second.
        let quarter = |a, b| {
            _mm512_add_ps(
                _mm512_shuffle_f32x4::<0b10_00_10_00>(a, b),
                _mm512_shuffle_f32x4::<0b11_01_11_01>(a, b),
            )
        };
        // 4 to 2: in each group lanes 0 and 1 plus lanes 2 and 3.
        let pairs = |a, b| {
            _mm512_add_ps(
                _mm512_shuffle_ps::<0b01_00_01_00>(a, b),
                _mm512_shuffle_ps::<0b11_10_11_10>(a, b),
            )
        };
        // 2 to 1.
        let single = |a, b| {
            _mm512_add_ps(
                _mm512_shuffle_ps::<0b10_00_10_00>(a, b),
                _mm512_shuffle_ps::<0b11_01_11_01>(a, b),
            )
        };
        // Register w of these four holds the sums of keys w, w + 4, w + 8, w + 12, four lanes each.
        let four = |w: usize| quarter(halve(acc[w], acc[w + 4]), halve(acc[w + 8], acc[w + 12]));
        single(pairs(four(0), four(1)), pairs(four(2), four(3)))
    }
}
