//! The four inner loops of a row, each in sixteen lanes.
//!
//! A sum of floats depends on its order, so a loop that is to give the same bits on every machine must state its order, and
//! one that is to be fast must leave room for vector registers. Both wishes meet here: every sum runs in sixteen lanes,
//! whatever the machine has. Lane `l` takes the elements `l`, `l + 16`, `l + 32`, … in ascending order, each with a fused
//! multiply-add; at the end the lanes are folded in halves: 16 to 8 to 4 to 2 to 1. The simple version of a dot product:
//!
//! ```text
//! lanes = [0; 16]
//! for d in 0..head_dim:  lanes[d % 16] = fma(q[d], k[d], lanes[d % 16])
//! for half in 8, 4, 2, 1:  for l in 0..half:  lanes[l] += lanes[l + half]
//! score = lanes[0] * scale
//! ```
//!
//! What the real code adds, and why it is allowed:
//! 1. The plain bodies below are compiled several times, for AVX-512, for AVX2 with FMA and for any machine. Rust never
//!    reorders or contracts floating-point operations, so a compiler that finds vectors in a body changes no bit.
//! 2. For AVX-512 [`dots`] takes sixteen keys at once: sixteen registers of sixteen lanes are folded together, as one
//!    transposes a matrix, in 15 additions instead of 64. The additions are the same ones.
//! 3. For AVX-512 [`add_weighted`] keeps up to four heads times 64 outputs in registers, so each value is read once for all
//!    query heads that share it. Each output still has one accumulator that takes the positions in ascending order.
//!
//! Nothing here knows how many positions there are in all or where they lie: a caller may pass them in one piece or in
//! several, and gets the same bits.

use layout::simd::Isa;

/// Lanes of every sum in this file: one AVX-512 register, two of AVX2, four of NEON.
pub const LANES: usize = 16;

/// Below this exponential function returns 0: e^-87 is 1.6e-38, the end of the normal numbers.
const EXP_FLOOR: f32 = -87.0;

/// e^x for x <= 0; the one exponential function of the workbook's inference.
///
/// x = n ln 2 + r with whole n and |r| <= ln 2 / 2; e^r by its Taylor series to the seventh power, whose remainder (5e-9) is
/// below half a unit in the last place; 2^n by writing n into the exponent bits. Relative error at most 1.5e-7 (tested over
/// the whole range). Returns exactly 1 for 0, 0 below -87, NaN for NaN. Positive arguments up to 88 work too, but nobody here
/// needs them.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Adding 1.5 * 2^23 leaves no bit for a fraction: the sum's low bits are x / ln 2 rounded to the nearest whole number.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts. The first has few bits, so that n * LN2_HIGH is exact.
    const LN2_HIGH: f32 = 355.0 / 512.0;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = (-n).mul_add(LN2_LOW, (-n).mul_add(LN2_HIGH, x));
    let mut sum = 1.0 / 5040.0;
    for coefficient in [
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        sum = r.mul_add(sum, coefficient);
    }
    let power_of_two = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0f32.to_bits()));
    if x < EXP_FLOOR {
        0.0
    } else {
        sum * power_of_two
    }
}

/// Folds sixteen lanes to their sum, in halves.
#[inline(always)]
fn fold(mut lanes: [f32; LANES]) -> f32 {
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            lanes[l] += lanes[l + half];
        }
    }
    lanes[0]
}

/// Declares a function, its twin that takes the instruction set, and the plain body compiled for each set.
macro_rules! for_each_isa {
    ($(#[$doc:meta])* $name:ident, $name_on:ident, $avx2:ident, $plain:ident,
     ($($arg:ident: $ty:ty),*) $(-> $ret:ty)?, $avx512:path) => {
        $(#[$doc])*
        pub fn $name($($arg: $ty),*) $(-> $ret)? {
            $name_on(Isa::detect(), $($arg),*)
        }

        #[doc = concat!("[`", stringify!($name), "`] with a chosen instruction set (tests and races).")]
        ///
        /// # Panics
        /// As the function without a choice, and if this machine lacks `isa`.
        pub fn $name_on(isa: Isa, $($arg: $ty),*) $(-> $ret)? {
            assert!(isa.is_available(), "this machine has no {}", isa.name());
            match isa {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the machine has AVX-512F, as asserted.
                Isa::Avx512 => unsafe { $avx512($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the machine has AVX2 and FMA, as asserted.
                Isa::Avx2 => unsafe { $avx2($($arg),*) },
                _ => $plain($($arg),*),
            }
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn $avx2($($arg: $ty),*) $(-> $ret)? {
            $plain($($arg),*)
        }
    };
}

for_each_isa! {
    /// Sum of the squares of `x`, in sixteen lanes.
    sum_of_squares, sum_of_squares_on, sum_of_squares_avx2, sum_of_squares_plain,
    (x: &[f32]) -> f32, x86::sum_of_squares
}

#[inline(always)]
fn sum_of_squares_plain(x: &[f32]) -> f32 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] = chunk[l].mul_add(chunk[l], lanes[l]);
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = x.mul_add(*x, *lane);
    }
    fold(lanes)
}

for_each_isa! {
    /// Turns scores into weights that add up to one: softmax, in place. An empty slice stays empty.
    ///
    /// The largest score is subtracted first, so that no exponential overflows; the sum runs in sixteen lanes, lane `l` taking the
    /// positions `l`, `l + 16`, … in ascending order. Cost: one exponential a position.
    softmax, softmax_on, softmax_avx2, softmax_plain,
    (scores: &mut [f32]), x86::softmax
}

#[inline(always)]
fn softmax_plain(scores: &mut [f32]) {
    // The largest of several numbers is the same in any order.
    let (chunks, rest) = scores.as_chunks::<LANES>();
    let mut largest = [f32::NEG_INFINITY; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            largest[l] = if chunk[l] > largest[l] {
                chunk[l]
            } else {
                largest[l]
            };
        }
    }
    let max = largest
        .iter()
        .chain(rest)
        .fold(f32::NEG_INFINITY, |max, x| max.max(*x));

    let (chunks, rest) = scores.as_chunks_mut::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            chunk[l] = exp(chunk[l] - max);
            lanes[l] += chunk[l];
        }
    }
    for (lane, score) in lanes.iter_mut().zip(rest) {
        *score = exp(*score - max);
        *lane += *score;
    }
    let scale = 1.0 / fold(lanes);
    for weight in scores {
        *weight *= scale;
    }
}

for_each_isa! {
    /// out = silu(gate) * up, with silu(x) = x / (1 + e^-x). Shapes: all three of one length. Cost: one exponential and one
    /// division an element.
    ///
    /// # Panics
    /// If the lengths differ.
    silu_times, silu_times_on, silu_times_avx2, silu_times_plain,
    (gate: &[f32], up: &[f32], out: &mut [f32]), x86::silu_times
}

#[inline(always)]
fn silu_times_plain(gate: &[f32], up: &[f32], out: &mut [f32]) {
    assert!(gate.len() == out.len() && up.len() == out.len());
    for ((out, &gate), &up) in out.iter_mut().zip(gate).zip(up) {
        // e^-|x| never overflows; 1 / (1 + e^-x) = e^x / (e^x + 1) serves the negative side.
        let e = exp(-gate.abs());
        let numerator = if gate < 0.0 { e } else { 1.0 };
        *out = gate * (numerator / (1.0 + e)) * up;
    }
}

for_each_isa! {
    /// Scores of several queries against several keys: `scores[h * score_stride + j] = scale * (q[h] . keys[j])`.
    ///
    /// Shapes: `q` `[num_queries, head_dim]`; key `j` stands at `keys[j * key_stride..][..head_dim]`; `num_queries` is
    /// `q.len() / head_dim`. Cost: num_queries * num_keys * head_dim multiply-adds; reads each key once from memory.
    ///
    /// # Panics
    /// If a slice is too short for these shapes.
    dots, dots_on, dots_avx2, dots_plain,
    (q: &[f32], head_dim: usize, keys: &[f32], key_stride: usize, num_keys: usize, scale: f32, scores: &mut [f32], score_stride: usize),
    x86::dots
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

/// Where the last of `count` pieces ends, which begin `stride` apart and are `len` long.
#[inline(always)]
fn last_end(count: usize, stride: usize, len: usize) -> usize {
    if count == 0 {
        0
    } else {
        (count - 1) * stride + len
    }
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
    let num_queries = check_dots(
        q,
        head_dim,
        keys,
        key_stride,
        num_keys,
        scores,
        score_stride,
    );
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

for_each_isa! {
    /// Adds weighted values to several outputs: `out[h] += sum over j of weights[h * weight_stride + j] * values[j]`, j ascending.
    ///
    /// Shapes: `out` `[num_queries, head_dim]`, added to; value `j` stands at `values[j * value_stride..][..head_dim]`. Cost:
    /// num_queries * num_values * head_dim multiply-adds; reads each value once from memory.
    ///
    /// # Panics
    /// If a slice is too short for these shapes.
    add_weighted, add_weighted_on, add_weighted_avx2, add_weighted_plain,
    (weights: &[f32], weight_stride: usize, values: &[f32], value_stride: usize, num_values: usize, head_dim: usize, out: &mut [f32]),
    x86::add_weighted
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
    let num_queries = check_add_weighted(
        weights,
        weight_stride,
        values,
        value_stride,
        num_values,
        head_dim,
        out,
    );
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

/// The AVX-512 versions: two written by hand, the others the plain bodies compiled for wider registers.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    pub(super) fn sum_of_squares(x: &[f32]) -> f32 {
        sum_of_squares_plain(x)
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn softmax(scores: &mut [f32]) {
        softmax_plain(scores);
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn silu_times(gate: &[f32], up: &[f32], out: &mut [f32]) {
        silu_times_plain(gate, up, out);
    }

    /// Mask of the first `len` of sixteen lanes.
    fn first_lanes(len: usize) -> __mmask16 {
        ((1u32 << len) - 1) as __mmask16
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn dots(
        q: &[f32],
        head_dim: usize,
        keys: &[f32],
        key_stride: usize,
        num_keys: usize,
        scale: f32,
        scores: &mut [f32],
        score_stride: usize,
    ) {
        let num_queries = check_dots(
            q,
            head_dim,
            keys,
            key_stride,
            num_keys,
            scores,
            score_stride,
        );
        let scale = _mm512_set1_ps(scale);
        // Sixteen keys are taken from memory once and stay in the first-level cache for the other queries.
        for first in (0..num_keys).step_by(LANES) {
            let count = LANES.min(num_keys - first);
            for h in 0..num_queries {
                let q = &q[h * head_dim..][..head_dim];
                let keys = &keys[first * key_stride..];
                // SAFETY: by `check_dots` all keys and all score places exist.
                unsafe {
                    let sums = match head_dim {
                        32 => dots_of_16::<2>(q, keys, key_stride, count),
                        64 => dots_of_16::<4>(q, keys, key_stride, count),
                        128 => dots_of_16::<8>(q, keys, key_stride, count),
                        _ => dots_of_16::<0>(q, keys, key_stride, count),
                    };
                    let to = scores.as_mut_ptr().add(h * score_stride + first);
                    _mm512_mask_storeu_ps(to, first_lanes(count), _mm512_mul_ps(sums, scale));
                }
            }
        }
    }

    /// Dot products of `q` with `count` (1 to 16) keys, one a lane; lanes from `count` on repeat the last key. `CHUNKS` is
    /// `head_dim / 16` where that is known when compiled, so that `q` stays in registers, else 0.
    ///
    /// # Safety
    /// `count` keys of `q.len()` numbers stand `key_stride` apart in `keys`.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn dots_of_16<const CHUNKS: usize>(
        q: &[f32],
        keys: &[f32],
        key_stride: usize,
        count: usize,
    ) -> __m512 {
        let chunks = if CHUNKS == 0 { q.len() / LANES } else { CHUNKS };
        let rest = if CHUNKS == 0 { q.len() % LANES } else { 0 };
        let mut acc = [_mm512_setzero_ps(); LANES];
        for (i, acc) in acc.iter_mut().enumerate() {
            // SAFETY: the key exists, and chunks * 16 + rest is its length; the masked load reads `rest` numbers.
            unsafe {
                let key = keys.as_ptr().add(i.min(count - 1) * key_stride);
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

    #[target_feature(enable = "avx512f")]
    pub(super) fn add_weighted(
        weights: &[f32],
        weight_stride: usize,
        values: &[f32],
        value_stride: usize,
        num_values: usize,
        head_dim: usize,
        out: &mut [f32],
    ) {
        let num_queries = check_add_weighted(
            weights,
            weight_stride,
            values,
            value_stride,
            num_values,
            head_dim,
            out,
        );
        let mut h = 0;
        while h < num_queries {
            let heads = (num_queries - h).min(4);
            for d in (0..head_dim).step_by(4 * LANES) {
                let width = (head_dim - d).min(4 * LANES);
                let panel = Panel {
                    weights: weights[h * weight_stride..].as_ptr(),
                    weight_stride,
                    values: values.get(d..).unwrap_or_default().as_ptr(),
                    value_stride,
                    num_values,
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
    struct Panel {
        weights: *const f32,
        weight_stride: usize,
        values: *const f32,
        value_stride: usize,
        num_values: usize,
        out: *mut f32,
        head_dim: usize,
        /// Lanes in use of each head's last register.
        last_lanes: __mmask16,
    }

    impl Panel {
        /// Adds all positions for `HEADS` heads and `REGISTERS` registers a head.
        ///
        /// # Safety
        /// The pointers lead to `HEADS` rows of `num_values` weights and of outputs, and to `num_values` values, all
        /// `REGISTERS` registers wide, the last of them in `last_lanes`.
        #[target_feature(enable = "avx512f")]
        unsafe fn add<const HEADS: usize, const REGISTERS: usize>(&self) {
            let mask = |r: usize| {
                if r + 1 == REGISTERS {
                    self.last_lanes
                } else {
                    !0
                }
            };
            let mut acc = [[_mm512_setzero_ps(); REGISTERS]; HEADS];
            // SAFETY: see above; masked lanes are neither read nor written.
            unsafe {
                for (h, acc) in acc.iter_mut().enumerate() {
                    for (r, acc) in acc.iter_mut().enumerate() {
                        *acc = _mm512_maskz_loadu_ps(
                            mask(r),
                            self.out.add(h * self.head_dim + r * LANES),
                        );
                    }
                }
                for j in 0..self.num_values {
                    let value = self.values.add(j * self.value_stride);
                    let mut v = [_mm512_setzero_ps(); REGISTERS];
                    for (r, v) in v.iter_mut().enumerate() {
                        *v = _mm512_maskz_loadu_ps(mask(r), value.add(r * LANES));
                    }
                    for (h, acc) in acc.iter_mut().enumerate() {
                        let weight = _mm512_set1_ps(*self.weights.add(h * self.weight_stride + j));
                        for (acc, v) in acc.iter_mut().zip(v) {
                            *acc = _mm512_fmadd_ps(weight, v, *acc);
                        }
                    }
                }
                for (h, acc) in acc.iter().enumerate() {
                    for (r, acc) in acc.iter().enumerate() {
                        _mm512_mask_storeu_ps(
                            self.out.add(h * self.head_dim + r * LANES),
                            mask(r),
                            *acc,
                        );
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between -1 and 1 that look random and are the same each time.
    fn numbers(len: usize, seed: u64) -> Vec<f32> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        (0..len)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 40) as f32 / (1 << 23) as f32 - 1.0
            })
            .collect()
    }

    fn bits(x: &[f32]) -> Vec<u32> {
        x.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn exp_is_within_one_and_a_half_e_minus_7_everywhere() {
        let mut worst = 0.0f64;
        for step in 0..=870_000 {
            let x = -(step as f32) * 1e-4;
            let right = f64::from(x).exp();
            worst = worst.max((f64::from(exp(x)) - right).abs() / right);
        }
        assert!(worst < 1.5e-7, "relative error {worst:e}");
    }

    #[test]
    fn exp_keeps_its_edges() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-0.0), 1.0);
        assert_eq!(exp(-87.1), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(f32::MIN), 0.0);
        assert!(exp(f32::NAN).is_nan());
        assert!(exp(-87.0) > 0.0);
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits_for_every_width_and_group() {
        for head_dim in (1..=40).chain([48, 63, 64, 65, 80, 96, 128, 144]) {
            for num_queries in [1, 2, 3, 4, 5, 8] {
                for num_keys in [0, 1, 2, 15, 16, 17, 33] {
                    let stride = head_dim + 3;
                    let q = numbers(num_queries * head_dim, 1);
                    let k = numbers(num_keys * stride, 2);
                    let v = numbers(num_keys * stride, 3);
                    let results: Vec<_> = Isa::available()
                        .into_iter()
                        .map(|isa| {
                            let mut scores = vec![0.0; num_queries * num_keys];
                            dots_on(
                                isa,
                                &q,
                                head_dim,
                                &k,
                                stride,
                                num_keys,
                                0.3,
                                &mut scores,
                                num_keys,
                            );
                            let raw = bits(&scores);
                            if num_keys > 0 {
                                scores.chunks_mut(num_keys).for_each(|s| softmax_on(isa, s));
                            }
                            let mut out = numbers(num_queries * head_dim, 4);
                            add_weighted_on(
                                isa, &scores, num_keys, &v, stride, num_keys, head_dim, &mut out,
                            );
                            (raw, bits(&scores), bits(&out))
                        })
                        .collect();
                    assert!(
                        results.windows(2).all(|w| w[0] == w[1]),
                        "head_dim {head_dim}, {num_queries} queries, {num_keys} keys"
                    );
                }
            }
        }
    }

    #[test]
    fn row_loops_give_the_same_bits_on_every_instruction_set() {
        for len in (0..70).chain([576, 688, 1536]) {
            let (a, b) = (numbers(len, 5), numbers(len, 6));
            let wide: Vec<f32> = a.iter().map(|x| x * 100.0).collect();
            let results: Vec<_> = Isa::available()
                .into_iter()
                .map(|isa| {
                    let mut out = vec![0.0; len];
                    silu_times_on(isa, &wide, &b, &mut out);
                    let mut weights = wide.clone();
                    softmax_on(isa, &mut weights);
                    (
                        sum_of_squares_on(isa, &a).to_bits(),
                        bits(&out),
                        bits(&weights),
                    )
                })
                .collect();
            assert!(results.windows(2).all(|w| w[0] == w[1]), "length {len}");
        }
    }

    #[test]
    fn positions_in_pieces_give_the_bits_of_all_at_once() {
        let (head_dim, num_keys, num_queries) = (48, 37, 3);
        let q = numbers(num_queries * head_dim, 7);
        let k = numbers(num_keys * head_dim, 8);
        let v = numbers(num_keys * head_dim, 9);
        let whole = {
            let mut scores = vec![0.0; num_queries * num_keys];
            dots(
                &q,
                head_dim,
                &k,
                head_dim,
                num_keys,
                1.0,
                &mut scores,
                num_keys,
            );
            let mut out = vec![0.0; num_queries * head_dim];
            add_weighted(
                &scores, num_keys, &v, head_dim, num_keys, head_dim, &mut out,
            );
            (bits(&scores), bits(&out))
        };
        for piece in [1, 4, 16, 20] {
            let mut scores = vec![0.0; num_queries * num_keys];
            let mut out = vec![0.0; num_queries * head_dim];
            for first in (0..num_keys).step_by(piece) {
                let count = piece.min(num_keys - first);
                dots(
                    &q,
                    head_dim,
                    &k[first * head_dim..],
                    head_dim,
                    count,
                    1.0,
                    &mut scores[first..],
                    num_keys,
                );
            }
            for first in (0..num_keys).step_by(piece) {
                let count = piece.min(num_keys - first);
                add_weighted(
                    &scores[first..],
                    num_keys,
                    &v[first * head_dim..],
                    head_dim,
                    count,
                    head_dim,
                    &mut out,
                );
            }
            assert_eq!((bits(&scores), bits(&out)), whole, "pieces of {piece}");
        }
    }

    #[test]
    fn softmax_survives_scores_beyond_any_exponential() {
        let mut scores = vec![1e30, 1e30, -1e30, f32::NEG_INFINITY];
        softmax(&mut scores);
        assert_eq!(scores, [0.5, 0.5, 0.0, 0.0]);
    }
}
