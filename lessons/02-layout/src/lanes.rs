//! One name for the few vector instructions that the workbook's kernels need, so that each kernel is written once.
//!
//! Every implementation computes the same function: `fma` rounds once, in each lane by itself. Lanes never mix, except
//! in [`Lanes::fold`], whose order of additions is stated. So the width changes how many outputs are computed together
//! and never how one output is computed.
//!
//! A value of an implementing type is the proof that this machine has the instructions: only
//! [`Isa::run`](crate::simd::Isa::run) makes one. What is left unsafe are the pointers. All methods are
//! `inline(always)`, because their instructions are only allowed inside a function that enables the set.

use half::bf16;

/// Lanes of every sum over one row, on any instruction set: one register of AVX-512, two of AVX2, four of NEON
/// ([`crate::row`] says why).
pub const LANES: usize = 16;

/// The vector registers of an instruction set.
pub trait Lanes: Copy {
    /// A register of `N` f32.
    type V: Copy;
    /// Numbers in a register; divides [`LANES`].
    const N: usize;
    /// Rows of the largest register tile: the accumulators, one register per row and column vector, fill most of the
    /// register file.
    const ROWS: usize;

    /// `x` in all lanes.
    fn splat(self, x: f32) -> Self::V;
    /// `a + b`.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b`.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`, rounded once.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Folds each of the first `N` registers to the sum of its lanes: the upper half is added to the lower half, until
    /// one number is left. Sum `i` comes out in lane `i`. `N` registers are folded together, as one transposes a
    /// matrix: half of the registers are left after each step, and all are full.
    fn fold(self, sums: &[Self::V; LANES]) -> Self::V;
    /// Asks for the cache line at this address, which may lie anywhere: a request for memory that is not ours is
    /// dropped.
    fn prefetch(self, at: *const u8);

    /// Loads `N` numbers.
    ///
    /// # Safety
    /// They are readable.
    unsafe fn load(self, from: *const f32) -> Self::V;
    /// Stores `N` numbers.
    ///
    /// # Safety
    /// Their places are writable.
    unsafe fn store(self, to: *mut f32, v: Self::V);
    /// Loads `2 N` bf16 numbers that are stored interleaved ([`crate::packed`] says how) as two registers of f32.
    ///
    /// # Safety
    /// They are readable.
    unsafe fn load_bf16_pairs(self, from: *const bf16) -> (Self::V, Self::V);

    /// Loads `count` numbers, 1 to `N`, into the first lanes; the others are zero.
    ///
    /// # Safety
    /// `count` numbers are readable.
    #[inline(always)]
    unsafe fn load_first(self, count: usize, from: *const f32) -> Self::V {
        let mut numbers = [0.0; LANES];
        // SAFETY: the caller's; `count` is at most `N`.
        unsafe {
            if count == Self::N {
                return self.load(from);
            }
            std::ptr::copy_nonoverlapping(from, numbers.as_mut_ptr(), count);
            self.load(numbers.as_ptr())
        }
    }

    /// Stores the first `count` lanes, 1 to `N`.
    ///
    /// # Safety
    /// `count` places are writable.
    #[inline(always)]
    unsafe fn store_first(self, count: usize, to: *mut f32, v: Self::V) {
        let mut numbers = [0.0; LANES];
        // SAFETY: the caller's; `count` is at most `N`.
        unsafe {
            if count == Self::N {
                return self.store(to, v);
            }
            self.store(numbers.as_mut_ptr(), v);
            std::ptr::copy_nonoverlapping(numbers.as_ptr(), to, count);
        }
    }

    /// `a * b + c` in the first `count` lanes, 1 to `N`; the others keep `c`. (Zeros in `a` would not do: they turn a
    /// sum of -0 into +0.)
    #[inline(always)]
    fn fma_first(self, count: usize, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        let (mut kept, mut sums) = ([0.0; LANES], [0.0; LANES]);
        // SAFETY: both arrays hold a register.
        unsafe {
            self.store(kept.as_mut_ptr(), c);
            self.store(sums.as_mut_ptr(), self.fma(a, b, c));
            kept[..count].copy_from_slice(&sums[..count]);
            self.load(kept.as_ptr())
        }
    }
}

/// One number at a time.
#[derive(Clone, Copy)]
pub struct ScalarLanes;

impl Lanes for ScalarLanes {
    type V = f32;
    const N: usize = 1;
    const ROWS: usize = 4;

    #[inline(always)]
    fn splat(self, x: f32) -> f32 {
        x
    }
    #[inline(always)]
    fn add(self, a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline(always)]
    fn mul(self, a: f32, b: f32) -> f32 {
        a * b
    }
    #[inline(always)]
    fn fma(self, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn fold(self, sums: &[f32; LANES]) -> f32 {
        sums[0]
    }
    #[inline(always)]
    fn prefetch(self, _at: *const u8) {}
    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> f32 {
        // SAFETY: the caller's.
        unsafe { from.read() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32, v: f32) {
        // SAFETY: the caller's.
        unsafe { to.write(v) }
    }
    #[inline(always)]
    unsafe fn load_bf16_pairs(self, from: *const bf16) -> (f32, f32) {
        // SAFETY: the caller's.
        unsafe { ((*from).to_f32(), (*from.add(1)).to_f32()) }
    }
}

// Methods of `Lanes` that are one instruction each.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! instructions {
    (fn { $($name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? = $value:expr;)* }
     unsafe fn { $($from:ident($($on:ident: $pointer:ty),*) $(-> $loaded:ty)? = $effect:expr;)* }) => {
        $(#[inline(always)]
        fn $name(self, $($arg: $type),*) $(-> $out)? {
            unsafe { $value }
        })*
        $(#[inline(always)]
        unsafe fn $from(self, $($on: $pointer),*) $(-> $loaded)? {
            unsafe { $effect }
        })*
    };
}

#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2Lanes, Avx512Lanes};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{LANES, Lanes};
    use half::bf16;
    use std::arch::x86_64::*;

    /// AVX-512F: 16 numbers, 32 registers: 14 x 2 accumulators, 2 weights, 1 broadcast.
    #[derive(Clone, Copy)]
    pub struct Avx512Lanes(());

    impl Avx512Lanes {
        /// # Safety
        /// The machine has the instruction set.
        #[inline(always)]
        pub(crate) unsafe fn new() -> Self {
            Avx512Lanes(())
        }
    }

    // SAFETY of all blocks: a value of this type exists only where the machine has the instructions; the pointers are
    // the caller's.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Lanes for Avx512Lanes {
        type V = __m512;
        const N: usize = 16;
        const ROWS: usize = 14;

        instructions! {
            fn {
                splat(x: f32) -> __m512 = _mm512_set1_ps(x);
                add(a: __m512, b: __m512) -> __m512 = _mm512_add_ps(a, b);
                mul(a: __m512, b: __m512) -> __m512 = _mm512_mul_ps(a, b);
                fma(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fmadd_ps(a, b, c);
                fold(sums: &[__m512; LANES]) -> __m512 = fold_16(sums);
                prefetch(at: *const u8) = _mm_prefetch::<_MM_HINT_T0>(at.cast());
                fma_first(count: usize, a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_mask3_fmadd_ps(a, b, c, first_lanes(count));
            }
            unsafe fn {
                load(from: *const f32) -> __m512 = _mm512_loadu_ps(from);
                store(to: *mut f32, v: __m512) = _mm512_storeu_ps(to, v);
                load_first(count: usize, from: *const f32) -> __m512 = _mm512_maskz_loadu_ps(first_lanes(count), from);
                store_first(count: usize, to: *mut f32, v: __m512) = _mm512_mask_storeu_ps(to, first_lanes(count), v);
            }
        }

        #[inline(always)]
        unsafe fn load_bf16_pairs(self, from: *const bf16) -> (__m512, __m512) {
            unsafe {
                let pairs = _mm512_loadu_si512(from.cast());
                let low = _mm512_slli_epi32::<16>(pairs);
                let high = _mm512_and_si512(pairs, _mm512_set1_epi32(0xffff_0000_u32 as i32));
                (_mm512_castsi512_ps(low), _mm512_castsi512_ps(high))
            }
        }
    }

    /// Mask of the first `count` of sixteen lanes.
    #[inline(always)]
    fn first_lanes(count: usize) -> __mmask16 {
        ((1u32 << count) - 1) as __mmask16
    }

    /// A register is four groups of four lanes. Each step adds one half of the lanes to the other for two registers at
    /// once: 15 additions for sixteen sums instead of 64.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn fold_16(sums: &[__m512; LANES]) -> __m512 {
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
        // Register w of these four holds the sums of w, w + 4, w + 8, w + 12, four lanes each.
        let four = |w: usize| quarter(halve(sums[w], sums[w + 4]), halve(sums[w + 8], sums[w + 12]));
        single(pairs(four(0), four(1)), pairs(four(2), four(3)))
    }

    /// AVX2 with FMA: 8 numbers, 16 registers: 6 x 2 accumulators, 2 weights, 1 broadcast.
    #[derive(Clone, Copy)]
    pub struct Avx2Lanes(());

    impl Avx2Lanes {
        /// # Safety
        /// The machine has the instruction set.
        #[inline(always)]
        pub(crate) unsafe fn new() -> Self {
            Avx2Lanes(())
        }
    }

    // SAFETY of all blocks: a value of this type exists only where the machine has the instructions; the pointers are
    // the caller's.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Lanes for Avx2Lanes {
        type V = __m256;
        const N: usize = 8;
        const ROWS: usize = 6;

        instructions! {
            fn {
                splat(x: f32) -> __m256 = _mm256_set1_ps(x);
                add(a: __m256, b: __m256) -> __m256 = _mm256_add_ps(a, b);
                mul(a: __m256, b: __m256) -> __m256 = _mm256_mul_ps(a, b);
                fma(a: __m256, b: __m256, c: __m256) -> __m256 = _mm256_fmadd_ps(a, b, c);
                fold(sums: &[__m256; LANES]) -> __m256 = fold_8(sums);
                prefetch(at: *const u8) = _mm_prefetch::<_MM_HINT_T0>(at.cast());
            }
            unsafe fn {
                load(from: *const f32) -> __m256 = _mm256_loadu_ps(from);
                store(to: *mut f32, v: __m256) = _mm256_storeu_ps(to, v);
            }
        }

        #[inline(always)]
        unsafe fn load_bf16_pairs(self, from: *const bf16) -> (__m256, __m256) {
            unsafe {
                let pairs = _mm256_loadu_si256(from.cast());
                let low = _mm256_slli_epi32::<16>(pairs);
                let high = _mm256_and_si256(pairs, _mm256_set1_epi32(0xffff_0000_u32 as i32));
                (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high))
            }
        }
    }

    /// As [`fold_16`], with two groups of four lanes.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn fold_8(sums: &[__m256; LANES]) -> __m256 {
        // 8 to 4 lanes: group 0 plus group 1.
        let halve = |a, b| {
            _mm256_add_ps(
                _mm256_permute2f128_ps::<0b10_0000>(a, b),
                _mm256_permute2f128_ps::<0b11_0001>(a, b),
            )
        };
        // 4 to 2: in each group lanes 0 and 1 plus lanes 2 and 3.
        let pairs = |a, b| {
            _mm256_add_ps(
                _mm256_shuffle_ps::<0b01_00_01_00>(a, b),
                _mm256_shuffle_ps::<0b11_10_11_10>(a, b),
            )
        };
        // 2 to 1.
        let single = |a, b| {
            _mm256_add_ps(
                _mm256_shuffle_ps::<0b10_00_10_00>(a, b),
                _mm256_shuffle_ps::<0b11_01_11_01>(a, b),
            )
        };
        // Register w of these four holds the sums of w and w + 4, four lanes each.
        let two = |w: usize| halve(sums[w], sums[w + 4]);
        single(pairs(two(0), two(1)), pairs(two(2), two(3)))
    }
}

#[cfg(target_arch = "aarch64")]
pub use arm::NeonLanes;

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::{LANES, Lanes};
    use half::bf16;
    use std::arch::aarch64::*;

    /// NEON: 4 numbers, 32 registers: 12 x 2 accumulators, 2 weights, 1 broadcast.
    #[derive(Clone, Copy)]
    pub struct NeonLanes(());

    impl NeonLanes {
        /// # Safety
        /// The machine has the instruction set.
        #[inline(always)]
        pub(crate) unsafe fn new() -> Self {
            NeonLanes(())
        }
    }

    // SAFETY of all blocks: a value of this type exists only where the machine has the instructions; the pointers are
    // the caller's.
    #[allow(clippy::undocumented_unsafe_blocks, unused_unsafe)]
    impl Lanes for NeonLanes {
        type V = float32x4_t;
        const N: usize = 4;
        const ROWS: usize = 12;

        instructions! {
            fn {
                splat(x: f32) -> float32x4_t = vdupq_n_f32(x);
                add(a: float32x4_t, b: float32x4_t) -> float32x4_t = vaddq_f32(a, b);
                mul(a: float32x4_t, b: float32x4_t) -> float32x4_t = vmulq_f32(a, b);
                // The instruction adds to its first operand.
                fma(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t = vfmaq_f32(c, a, b);
                fold(sums: &[float32x4_t; LANES]) -> float32x4_t = fold_4(sums);
                // The intrinsic is not stable yet; these cores prefetch two sequential streams well by themselves.
                prefetch(_at: *const u8) = ();
            }
            unsafe fn {
                load(from: *const f32) -> float32x4_t = vld1q_f32(from);
                store(to: *mut f32, v: float32x4_t) = vst1q_f32(to, v);
            }
        }

        #[inline(always)]
        unsafe fn load_bf16_pairs(self, from: *const bf16) -> (float32x4_t, float32x4_t) {
            unsafe {
                let pairs = vld1q_u32(from.cast());
                let low = vshlq_n_u32::<16>(pairs);
                let high = vandq_u32(pairs, vdupq_n_u32(0xffff_0000));
                (vreinterpretq_f32_u32(low), vreinterpretq_f32_u32(high))
            }
        }
    }

    /// Four sums from four registers, with a transposition by halves.
    #[target_feature(enable = "neon")]
    #[inline]
    fn fold_4(sums: &[float32x4_t; LANES]) -> float32x4_t {
        // 4 to 2 lanes of two registers at once: a0 + a2, b0 + b2, a1 + a3, b1 + b3.
        let pairs = |a, b| vaddq_f32(vzip1q_f32(a, b), vzip2q_f32(a, b));
        // 2 to 1: sums 0 and 2 are in the first register, 1 and 3 in the second.
        let (even, odd) = (pairs(sums[0], sums[2]), pairs(sums[1], sums[3]));
        vaddq_f32(vzip1q_f32(even, odd), vzip2q_f32(even, odd))
    }
}
