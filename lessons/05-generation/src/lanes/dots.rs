//! Scores: queries against many keys.

use super::{LANES, last_end};
use layout::lanes::Lanes;
use layout::simd::{Isa, Kernel};

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
    let isa = Isa::detect();
    dots_on(
        isa,
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

/// [`dots`] with a chosen instruction set.
///
/// # Panics
/// As [`dots`], and if this machine lacks `isa`.
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
    let rows = [q];
    isa.run(Dots {
        rows: &rows,
        head_dim,
        keys,
        key_stride,
        num_keys,
        scale,
        scores,
        score_stride,
    });
}

/// The queries of some rows against keys in one piece. The score of query `h` of row `r` against key `j` goes to
/// `scores[(r * group_size + h) * score_stride + j]`; the other shapes are those of [`dots`].
pub(super) struct Dots<'a> {
    /// `[group_size, head_dim]` each.
    pub rows: &'a [&'a [f32]],
    pub head_dim: usize,
    pub keys: &'a [f32],
    pub key_stride: usize,
    pub num_keys: usize,
    pub scale: f32,
    pub scores: &'a mut [f32],
    pub score_stride: usize,
}

impl Kernel for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let group_size = self.rows.first().map_or(0, |q| q.len()) / self.head_dim;
        assert!(self.rows.iter().all(|q| q.len() == group_size * self.head_dim));
        assert!(last_end(self.num_keys, self.key_stride, self.head_dim) <= self.keys.len());
        assert!(last_end(self.rows.len() * group_size, self.score_stride, self.num_keys) <= self.scores.len());
        // SAFETY: all keys and all places of scores exist, as asserted.
        unsafe {
            match self.head_dim {
                32 => self.scores::<L, 2>(lanes),
                64 => self.scores::<L, 4>(lanes),
                128 => self.scores::<L, 8>(lanes),
                _ => self.scores::<L, 0>(lanes),
            }
        }
    }
}

impl Dots<'_> {
    /// Computes all scores. `CHUNKS` is `head_dim / 16` where that is known when compiled, so that a query stays in
    /// registers, else 0.
    ///
    /// # Safety
    /// The slices have the shapes that [`Dots`] states.
    #[inline(always)]
    unsafe fn scores<L: Lanes, const CHUNKS: usize>(self, lanes: L) {
        let scale = lanes.splat(self.scale);
        // A register of keys is taken from memory once and stays in the first-level cache for the other queries.
        for first in (0..self.num_keys).step_by(L::N) {
            let count = L::N.min(self.num_keys - first);
            let mut place = first;
            for q in self.rows.iter().flat_map(|row| row.chunks_exact(self.head_dim)) {
                // SAFETY: see above.
                unsafe {
                    let key = self.keys.as_ptr().add(first * self.key_stride);
                    let sums = dots_of_register::<L, CHUNKS>(lanes, q, key, self.key_stride, count);
                    lanes.store_first(count, self.scores.as_mut_ptr().add(place), lanes.mul(sums, scale));
                }
                place += self.score_stride;
            }
        }
    }
}

/// Dot products of `q` with `count` (1 to `L::N`) keys, one a lane; lanes from `count` on repeat the last key.
///
/// # Safety
/// `count` keys of `q.len()` numbers stand `key_stride` apart from `keys` on, and `CHUNKS` is 0 or `q.len() / 16`.
#[inline(always)]
unsafe fn dots_of_register<L: Lanes, const CHUNKS: usize>(
    lanes: L,
    q: &[f32],
    keys: *const f32,
    key_stride: usize,
    count: usize,
) -> L::V {
    // Written out, not as a loop: only then does the compiler keep all sums in registers (a loop was half as fast with
    // 64 and 128 numbers a head).
    macro_rules! sums {
        ($($i:literal)*) => {
            [$( if $i < L::N {
                // SAFETY: the keys exist, as the caller says.
                unsafe { dot_of_key::<L, CHUNKS>(lanes, q, keys.add((count - 1).min($i) * key_stride)) }
            } else {
                lanes.splat(0.0)
            } ),*]
        };
    }
    lanes.fold(&sums!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15))
}

/// The products of `q` with one key, summed up to one register: its `N` lanes are those of the sum that are left after
/// the first folds.
///
/// # Safety
/// `q.len()` numbers are readable at `key`, and `CHUNKS` is 0 or `q.len() / 16`.
#[inline(always)]
unsafe fn dot_of_key<L: Lanes, const CHUNKS: usize>(lanes: L, q: &[f32], key: *const f32) -> L::V {
    let chunks = if CHUNKS == 0 { q.len() / LANES } else { CHUNKS };
    let rest = if CHUNKS == 0 { q.len() % LANES } else { 0 };
    let q = q.as_ptr();
    // The sixteen lanes of the sum are 16 / N registers.
    let registers = LANES / L::N;
    let mut parts = [lanes.splat(0.0); LANES];
    // SAFETY: chunks * 16 + rest is the length of q and of the key.
    unsafe {
        for chunk in 0..chunks {
            for r in 0..registers {
                let at = chunk * LANES + r * L::N;
                parts[r] = lanes.fma(lanes.load(q.add(at)), lanes.load(key.add(at)), parts[r]);
            }
        }
        for r in 0..rest.div_ceil(L::N) {
            let at = chunks * LANES + r * L::N;
            let here = L::N.min(rest - r * L::N);
            let (q, key) = (lanes.load_first(here, q.add(at)), lanes.load_first(here, key.add(at)));
            parts[r] = lanes.fma_first(here, q, key, parts[r]);
        }
    }
    // From sixteen lanes to N: the upper half of the registers is added to the lower half.
    let mut half = registers / 2;
    while half > 0 {
        for r in 0..half {
            parts[r] = lanes.add(parts[r], parts[r + half]);
        }
        half /= 2;
    }
    parts[0]
}
