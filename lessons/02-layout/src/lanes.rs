//! One name for the few vector instructions that a matrix product needs, so that its kernel is written once.
//!
//! Every implementation computes the same function: `fma` rounds once, in each lane by itself. Lanes never mix, so the
//! width changes how many outputs are computed together and never how one output is computed (see [`crate::kernel`]).
//!
//! All methods are `unsafe`: the processor must have the instruction set, and pointers must be valid for `N` numbers.
//! They are `inline(always)`, because their instructions are only allowed inside a function that enables the set.

/// A vector register of f32.
pub(crate) trait Lanes: Copy {
    /// The register.
    type V: Copy;
    /// Numbers in it.
    const N: usize;
    /// Rows of the largest register tile: the accumulators, one register per row and column vector, fill most of the register file.
    const ROWS: usize;

    unsafe fn zero() -> Self::V;
    unsafe fn splat(x: f32) -> Self::V;
    unsafe fn load(from: *const f32) -> Self::V;
    unsafe fn store(to: *mut f32, v: Self::V);
    /// `a * b + c`, rounded once.
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Asks for the cache line at this address, which may lie anywhere: a request for memory that is not ours is dropped.
    unsafe fn prefetch(at: *const u8);
    /// Loads `2 N` bf16 numbers that are stored interleaved ([`crate::packed`] says how) as two registers of f32.
    unsafe fn load_bf16_pairs(from: *const half::bf16) -> (Self::V, Self::V);
}

/// One number at a time.
#[derive(Clone, Copy)]
pub(crate) struct ScalarLanes;

impl Lanes for ScalarLanes {
    type V = f32;
    const N: usize = 1;
    const ROWS: usize = 4;

    #[inline(always)]
    unsafe fn zero() -> f32 {
        0.0
    }
    #[inline(always)]
    unsafe fn splat(x: f32) -> f32 {
        x
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> f32 {
        // SAFETY: the caller's.
        unsafe { from.read() }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, v: f32) {
        // SAFETY: the caller's.
        unsafe { to.write(v) }
    }
    #[inline(always)]
    unsafe fn fma(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    unsafe fn prefetch(_at: *const u8) {}
    #[inline(always)]
    unsafe fn load_bf16_pairs(from: *const half::bf16) -> (f32, f32) {
        // SAFETY: the caller's.
        unsafe { ((*from).to_f32(), (*from.add(1)).to_f32()) }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2Lanes, Avx512Lanes};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lanes;
    use std::arch::x86_64::*;

    /// AVX-512F: 16 numbers, 32 registers: 14 x 2 accumulators, 2 weights, 1 broadcast.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512Lanes;

    // SAFETY of all blocks below: the trait's contract, that is, the instruction set is there and the pointers are valid.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Lanes for Avx512Lanes {
        type V = __m512;
        const N: usize = 16;
        const ROWS: usize = 14;

        #[inline(always)]
        unsafe fn zero() -> __m512 {
            unsafe { _mm512_setzero_ps() }
        }
        #[inline(always)]
        unsafe fn splat(x: f32) -> __m512 {
            unsafe { _mm512_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> __m512 {
            unsafe { _mm512_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(to: *mut f32, v: __m512) {
            unsafe { _mm512_storeu_ps(to, v) }
        }
        #[inline(always)]
        unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
            unsafe { _mm512_fmadd_ps(a, b, c) }
        }
        #[inline(always)]
        unsafe fn prefetch(at: *const u8) {
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
        }
        #[inline(always)]
        unsafe fn load_bf16_pairs(from: *const half::bf16) -> (__m512, __m512) {
            unsafe {
                let pairs = _mm512_loadu_si512(from.cast());
                let low = _mm512_slli_epi32::<16>(pairs);
                let high = _mm512_and_si512(pairs, _mm512_set1_epi32(0xffff_0000_u32 as i32));
                (_mm512_castsi512_ps(low), _mm512_castsi512_ps(high))
            }
        }
    }

    /// AVX2 with FMA: 8 numbers, 16 registers: 6 x 2 accumulators, 2 weights, 1 broadcast.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2Lanes;

    // SAFETY: as above.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Lanes for Avx2Lanes {
        type V = __m256;
        const N: usize = 8;
        const ROWS: usize = 6;

        #[inline(always)]
        unsafe fn zero() -> __m256 {
            unsafe { _mm256_setzero_ps() }
        }
        #[inline(always)]
        unsafe fn splat(x: f32) -> __m256 {
            unsafe { _mm256_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> __m256 {
            unsafe { _mm256_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(to: *mut f32, v: __m256) {
            unsafe { _mm256_storeu_ps(to, v) }
        }
        #[inline(always)]
        unsafe fn fma(a: __m256, b: __m256, c: __m256) -> __m256 {
            unsafe { _mm256_fmadd_ps(a, b, c) }
        }
        #[inline(always)]
        unsafe fn prefetch(at: *const u8) {
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
        }
        #[inline(always)]
        unsafe fn load_bf16_pairs(from: *const half::bf16) -> (__m256, __m256) {
            unsafe {
                let pairs = _mm256_loadu_si256(from.cast());
                let low = _mm256_slli_epi32::<16>(pairs);
                let high = _mm256_and_si256(pairs, _mm256_set1_epi32(0xffff_0000_u32 as i32));
                (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high))
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
pub(crate) use arm::NeonLanes;

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::Lanes;
    use std::arch::aarch64::*;

    /// NEON: 4 numbers, 32 registers: 12 x 2 accumulators, 2 weights, 1 broadcast.
    #[derive(Clone, Copy)]
    pub(crate) struct NeonLanes;

    // SAFETY: the trait's contract; NEON is part of every 64-bit Arm.
    #[allow(clippy::undocumented_unsafe_blocks, unused_unsafe)]
    impl Lanes for NeonLanes {
        type V = float32x4_t;
        const N: usize = 4;
        const ROWS: usize = 12;

        #[inline(always)]
        unsafe fn zero() -> float32x4_t {
            unsafe { vdupq_n_f32(0.0) }
        }
        #[inline(always)]
        unsafe fn splat(x: f32) -> float32x4_t {
            unsafe { vdupq_n_f32(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> float32x4_t {
            unsafe { vld1q_f32(from) }
        }
        #[inline(always)]
        unsafe fn store(to: *mut f32, v: float32x4_t) {
            unsafe { vst1q_f32(to, v) }
        }
        #[inline(always)]
        unsafe fn fma(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
            // The instruction adds to its first operand.
            unsafe { vfmaq_f32(c, a, b) }
        }
        #[inline(always)]
        unsafe fn prefetch(_at: *const u8) {
            // The intrinsic is not stable yet; these cores prefetch two sequential streams well by themselves.
        }
        #[inline(always)]
        unsafe fn load_bf16_pairs(from: *const half::bf16) -> (float32x4_t, float32x4_t) {
            unsafe {
                let pairs = vld1q_u32(from.cast());
                let low = vshlq_n_u32::<16>(pairs);
                let high = vandq_u32(pairs, vdupq_n_u32(0xffff_0000));
                (vreinterpretq_f32_u32(low), vreinterpretq_f32_u32(high))
            }
        }
    }
}
