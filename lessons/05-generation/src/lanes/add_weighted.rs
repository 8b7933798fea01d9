//! Weighted values, added up: what attention hands on.

use super::{Span, last_end};
use layout::simd::Isa;

/// Adds weighted values to several outputs: `out[h] += sum over j of weights[h * weight_stride + j] * values[j]`, j ascending.
///
/// Shapes: `out` `[num_queries, head_dim]`, added to; value `j` stands at `values[j * value_stride..][..head_dim]`. Cost:
/// num_queries * num_values * head_dim multiply-adds; reads each value once from memory.
///
/// # Panics
/// If a slice is too short for these shapes.
pub fn add_weighted(
    weights: &[f32],
    weight_stride: usize,
    values: &[f32],
    value_stride: usize,
    num_values: usize,
    head_dim: usize,
    out: &mut [f32],
) {
    add_weighted_on(
        Isa::detect(),
        weights,
        weight_stride,
        values,
        value_stride,
        num_values,
        head_dim,
        out,
    );
}

/// [`add_weighted`] with a chosen instruction set (tests and races): values in one piece.
///
/// # Panics
/// As the function without a choice, and if this machine lacks `isa`.
pub fn add_weighted_on(
    isa: Isa,
    weights: &[f32],
    weight_stride: usize,
    values: &[f32],
    value_stride: usize,
    num_values: usize,
    head_dim: usize,
    out: &mut [f32],
) {
    add_weighted_of_spans_on(
        isa,
        weights,
        weight_stride,
        values,
        value_stride,
        &[Span::all(num_values)],
        head_dim,
        out,
    );
}

for_each_isa! {
    /// As [`add_weighted`] over values that lie in several places, span by span.
    ///
    /// Shapes: as there; position `first + i` of a span stands at `values[start + i * value_stride..]`, and its weight at `first + i`.
    ///
    /// # Panics
    /// If a slice is too short for these shapes.
    add_weighted_of_spans, add_weighted_of_spans_on, add_weighted_of_spans_avx2, add_weighted_of_spans_plain,
    (weights: &[f32], weight_stride: usize, values: &[f32], value_stride: usize, spans: &[Span], head_dim: usize, out: &mut [f32]),
    x86::add_weighted_of_spans
}

#[inline(always)]
fn add_weighted_of_spans_plain(
    weights: &[f32],
    weight_stride: usize,
    values: &[f32],
    value_stride: usize,
    spans: &[Span],
    head_dim: usize,
    out: &mut [f32],
) {
    for span in spans {
        add_weighted_plain(
            &weights[span.first..],
            weight_stride,
            &values[span.start..],
            value_stride,
            span.len,
            head_dim,
            out,
        );
    }
}

/// Asserts the shapes of [`add_weighted`]; returns the number of queries.
#[inline(always)]
fn check_add_weighted(
    weights: &[f32],
    weight_stride: usize,
    values: &[f32],
    value_stride: usize,
    num_values: usize,
    head_dim: usize,
    out: &[f32],
) -> usize {
    let num_queries = out.len() / head_dim;
    assert_eq!(out.len(), num_queries * head_dim);
    assert!(last_end(num_values, value_stride, head_dim) <= values.len());
    assert!(last_end(num_queries, weight_stride, num_values) <= weights.len());
    num_queries
}

#[inline(always)]
fn add_weighted_plain(
    weights: &[f32],
    weight_stride: usize,
    values: &[f32],
    value_stride: usize,
    num_values: usize,
    head_dim: usize,
    out: &mut [f32],
) {
    let num_queries = check_add_weighted(weights, weight_stride, values, value_stride, num_values, head_dim, out);
    for h in 0..num_queries {
        let out = &mut out[h * head_dim..][..head_dim];
        for j in 0..num_values {
            let weight = weights[h * weight_stride + j];
            let value = &values[j * value_stride..][..head_dim];
            for (out, value) in out.iter_mut().zip(value) {
                *out = weight.mul_add(*value, *out);
            }
        }
    }
}

/// The AVX-512 version: accumulators of several heads stay in registers over all positions.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use crate::lanes::{LANES, first_lanes};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    pub(super) fn add_weighted_of_spans(
        weights: &[f32],
        weight_stride: usize,
        values: &[f32],
        value_stride: usize,
        spans: &[Span],
        head_dim: usize,
        out: &mut [f32],
    ) {
        let num_queries = out.len() / head_dim;
        for span in spans {
            check_add_weighted(
                &weights[span.first..],
                weight_stride,
                &values[span.start..],
                value_stride,
                span.len,
                head_dim,
                out,
            );
        }
        let mut h = 0;
        while h < num_queries {
            let heads = (num_queries - h).min(4);
            for d in (0..head_dim).step_by(4 * LANES) {
                let width = (head_dim - d).min(4 * LANES);
                let panel = Panel {
                    weights: weights[h * weight_stride..].as_ptr(),
                    weight_stride,
                    values: values.as_ptr().wrapping_add(d),
                    value_stride,
                    spans,
                    out: out[h * head_dim + d..].as_mut_ptr(),
                    head_dim,
                    last_lanes: first_lanes((width - 1) % LANES + 1),
                };
                // SAFETY: by `check_add_weighted` all weights, values and outputs of these heads and lanes exist.
                unsafe {
                    match (heads, width.div_ceil(LANES)) {
                        (1, 1) => panel.add::<1, 1>(),
                        (1, 2) => panel.add::<1, 2>(),
                        (1, 3) => panel.add::<1, 3>(),
                        (1, 4) => panel.add::<1, 4>(),
                        (2, 1) => panel.add::<2, 1>(),
                        (2, 2) => panel.add::<2, 2>(),
                        (2, 3) => panel.add::<2, 3>(),
                        (2, 4) => panel.add::<2, 4>(),
                        (3, 1) => panel.add::<3, 1>(),
                        (3, 2) => panel.add::<3, 2>(),
                        (3, 3) => panel.add::<3, 3>(),
                        (3, 4) => panel.add::<3, 4>(),
                        (4, 1) => panel.add::<4, 1>(),
                        (4, 2) => panel.add::<4, 2>(),
                        (4, 3) => panel.add::<4, 3>(),
                        (4, 4) => panel.add::<4, 4>(),
                        _ => unreachable!("at most four heads of four registers"),
                    }
                }
            }
            h += heads;
        }
    }

    /// Up to four heads times up to 64 outputs, whose accumulators stay in registers over all positions.
    struct Panel<'a> {
        weights: *const f32,
        weight_stride: usize,
        values: *const f32,
        value_stride: usize,
        spans: &'a [Span],
        out: *mut f32,
        head_dim: usize,
        /// Lanes in use of each head's last register.
        last_lanes: __mmask16,
    }

    impl Panel<'_> {
        /// Adds all positions for `HEADS` heads and `REGISTERS` registers a head.
        ///
        /// # Safety
        /// The pointers lead to `HEADS` rows of outputs and of a weight for each position of the spans, and to the values of these positions, all
        /// `REGISTERS` registers wide, the last of them in `last_lanes`.
        #[target_feature(enable = "avx512f")]
        unsafe fn add<const HEADS: usize, const REGISTERS: usize>(&self) {
            let mask = |r: usize| {
                if r + 1 == REGISTERS { self.last_lanes } else { !0 }
            };
            let mut acc = [[_mm512_setzero_ps(); REGISTERS]; HEADS];
            // SAFETY: see above; masked lanes are neither read nor written.
            unsafe {
                for (h, acc) in acc.iter_mut().enumerate() {
                    for (r, acc) in acc.iter_mut().enumerate() {
                        *acc = _mm512_maskz_loadu_ps(mask(r), self.out.add(h * self.head_dim + r * LANES));
                    }
                }
                // Of an empty span even the first number need not exist.
                for span in self.spans.iter().filter(|span| span.len > 0) {
                    let values = self.values.wrapping_add(span.start);
                    let weights = self.weights.add(span.first);
                    for j in 0..span.len {
                        let value = values.add(j * self.value_stride);
                        let mut v = [_mm512_setzero_ps(); REGISTERS];
                        for (r, v) in v.iter_mut().enumerate() {
                            *v = _mm512_maskz_loadu_ps(mask(r), value.add(r * LANES));
                        }
                        for (h, acc) in acc.iter_mut().enumerate() {
                            let weight = _mm512_set1_ps(*weights.add(h * self.weight_stride + j));
                            for (acc, v) in acc.iter_mut().zip(v) {
                                *acc = _mm512_fmadd_ps(weight, v, *acc);
                            }
                        }
                    }
                }
                for (h, acc) in acc.iter().enumerate() {
                    for (r, acc) in acc.iter().enumerate() {
                        _mm512_mask_storeu_ps(self.out.add(h * self.head_dim + r * LANES), mask(r), *acc);
                    }
                }
            }
        }
    }
}
