//! The inner loops of a row, each in sixteen lanes.
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
//! 1. The plain bodies in these files are compiled several times, for AVX-512, for AVX2 with FMA and for any machine. Rust never
//!    reorders or contracts floating-point operations, so a compiler that finds vectors in a body changes no bit.
//! 2. For AVX-512 [`dots`] takes sixteen keys at once: sixteen registers of sixteen lanes are folded together, as one
//!    transposes a matrix, in 15 additions instead of 64. The additions are the same ones.
//! 3. For AVX-512 [`add_weighted`] keeps up to four heads times 64 outputs in registers, so each value is read once for all
//!    query heads that share it. Each output still has one accumulator that takes the positions in ascending order.
//!
//! Nothing here knows how many positions there are in all or where they lie: a caller may pass them in one piece or in
//! several, and gets the same bits.

// Declares a function, its twin that takes the instruction set, and the plain body compiled for each set.
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

mod add_weighted;
mod dots;
mod exp;
mod silu;
mod softmax;
mod sum_of_squares;
#[cfg(test)]
mod tests;

pub use add_weighted::{add_weighted, add_weighted_of_spans, add_weighted_of_spans_on, add_weighted_on};
pub use dots::{dots, dots_of_rows, dots_of_rows_on, dots_on};
pub use exp::exp;
pub use silu::{silu_times, silu_times_on};
pub use softmax::{softmax, softmax_on};
pub use sum_of_squares::{sum_of_squares, sum_of_squares_on};

/// Lanes of every sum in this module: one AVX-512 register, two of AVX2, four of NEON.
pub const LANES: usize = 16;

/// Positions that stand one after the other in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first of them.
    pub first: usize,
    /// Where its numbers begin.
    pub start: usize,
    /// How many positions there are.
    pub len: usize,
}

impl Span {
    /// Positions in one piece.
    pub fn all(len: usize) -> Span {
        Span {
            first: 0,
            start: 0,
            len,
        }
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

/// Where the last of `count` pieces ends, which begin `stride` apart and are `len` long.
#[inline(always)]
fn last_end(count: usize, stride: usize, len: usize) -> usize {
    if count == 0 {
        0
    } else {
        let begin = (count - 1).checked_mul(stride);
        let end = begin.and_then(|begin| begin.checked_add(len));
        end.expect("a shape beyond all memory")
    }
}

/// Mask of the first `len` of sixteen lanes.
#[cfg(target_arch = "x86_64")]
#[inline]
fn first_lanes(len: usize) -> std::arch::x86_64::__mmask16 {
    ((1u32 << len) - 1) as std::arch::x86_64::__mmask16
}
