//! Loops over rows of floats that use the whole width of the machine's vectors.
//!
//! The simple version of each function is the loop that stands in its body. What the real code adds:
//! 1. The body is compiled three times (AVX-512, AVX2 with FMA, whatever the target has by itself) and the widest one
//!    that this machine runs is taken at run time: [`simd!`]. Without it the compiler may use SSE2 only.
//! 2. A sum runs in sixteen lanes that are folded in one fixed order, and every multiply-add is fused (`mul_add`), so
//!    that the three versions give the same bits.
//! 3. [`exp`] is a polynomial, since a call into the C library for each element can not be vectorised.

/// Defines a function whose body is compiled for several instruction sets and chosen when it is called.
macro_rules! simd {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn simple($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                fn avx512($($arg: $ty),*) $(-> $ret)? { simple($($arg),*) }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $ty),*) $(-> $ret)? { simple($($arg),*) }
                match $crate::vector::Width::detect() {
                    // SAFETY: `detect` found every feature that the function was compiled for.
                    $crate::vector::Width::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::vector::Width::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::vector::Width::Target => {}
                }
            }
            simple($($arg),*)
        }
    };
    // With a parameter `isa: impl Vector`, for bodies that name their vectors.
    ($(#[$meta:meta])* $vis:vis fn $name:ident[$isa:ident]($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) {
            #[inline(always)]
            fn simple<I: $crate::vector::Vector>($isa: I, $($arg: $ty),*) $body
            #[cfg(target_arch = "x86_64")]
            {
                use $crate::vector::{Avx2, Avx512};
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                fn avx512(isa: Avx512, $($arg: $ty),*) { simple(isa, $($arg),*) }
                #[target_feature(enable = "avx2,fma")]
                fn avx2(isa: Avx2, $($arg: $ty),*) { simple(isa, $($arg),*) }
                match $crate::vector::Width::detect() {
                    // SAFETY: `detect` found every feature that the function was compiled for.
                    $crate::vector::Width::Avx512 => return unsafe { avx512(Avx512::assume(), $($arg),*) },
                    // SAFETY: as above.
                    $crate::vector::Width::Avx2 => return unsafe { avx2(Avx2::assume(), $($arg),*) },
                    $crate::vector::Width::Target => {}
                }
            }
            simple($crate::vector::Target, $($arg),*)
        }
    };
}
pub(crate) use simd;

/// How wide this machine's vectors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 16 floats, with fused multiply-add.
    Avx512,
    /// 8 floats, with fused multiply-add.
    Avx2,
    /// What the target has without asking: 4 floats on x86-64 and AArch64.
    Target,
}

impl Width {
    /// Asks the processor; the answer is cached by the standard library, a call costs a few loads.
    #[inline]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Target
    }
}

/// Sixteen floats that are computed together, for the loops that the compiler does not turn into vectors by itself.
///
/// A value of an implementing type is the proof that this machine has the instructions, so the methods are safe. They
/// are `inline(always)`, because the instructions are only allowed inside a function that enables them.
pub(crate) trait Vector: Copy {
    /// The registers that hold sixteen floats.
    type V: Copy;
    /// Sixteen times one number.
    fn splat(self, x: f32) -> Self::V;
    /// From memory.
    fn load(self, from: &[f32; LANES]) -> Self::V;
    /// To memory.
    fn store(self, v: Self::V, to: &mut [f32; LANES]);
    /// a · b + c in each lane, rounded once.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
}

/// One number after the other, in whatever way the compiler finds.
#[derive(Clone, Copy)]
pub(crate) struct Target;

impl Vector for Target {
    type V = [f32; LANES];
    #[inline(always)]
    fn splat(self, x: f32) -> Self::V {
        [x; LANES]
    }
    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> Self::V {
        *from
    }
    #[inline(always)]
    fn store(self, v: Self::V, to: &mut [f32; LANES]) {
        *to = v;
    }
    #[inline(always)]
    fn fma(self, a: Self::V, b: Self::V, mut c: Self::V) -> Self::V {
        for lane in 0..LANES {
            c[lane] = a[lane].mul_add(b[lane], c[lane]);
        }
        c
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{LANES, Vector};
    use std::arch::x86_64::*;

    /// Sixteen floats in one register.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512(());

    /// Sixteen floats in two registers.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(());

    impl Avx512 {
        /// # Safety
        /// The machine must have AVX-512 F.
        pub(crate) unsafe fn assume() -> Self {
            Self(())
        }
    }

    impl Avx2 {
        /// # Safety
        /// The machine must have AVX2 and FMA.
        pub(crate) unsafe fn assume() -> Self {
            Self(())
        }
    }

    // SAFETY of all blocks below: `self` proves that the machine has the instructions; the arrays have sixteen floats.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Vector for Avx512 {
        type V = __m512;
        #[inline(always)]
        fn splat(self, x: f32) -> __m512 {
            unsafe { _mm512_set1_ps(x) }
        }
        #[inline(always)]
        fn load(self, from: &[f32; LANES]) -> __m512 {
            unsafe { _mm512_loadu_ps(from.as_ptr()) }
        }
        #[inline(always)]
        fn store(self, v: __m512, to: &mut [f32; LANES]) {
            unsafe { _mm512_storeu_ps(to.as_mut_ptr(), v) }
        }
        #[inline(always)]
        fn fma(self, a: __m512, b: __m512, c: __m512) -> __m512 {
            unsafe { _mm512_fmadd_ps(a, b, c) }
        }
    }

    // SAFETY: as above.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Vector for Avx2 {
        type V = [__m256; 2];
        #[inline(always)]
        fn splat(self, x: f32) -> Self::V {
            unsafe { [_mm256_set1_ps(x); 2] }
        }
        #[inline(always)]
        fn load(self, from: &[f32; LANES]) -> Self::V {
            unsafe { [_mm256_loadu_ps(from.as_ptr()), _mm256_loadu_ps(from[8..].as_ptr())] }
        }
        #[inline(always)]
        fn store(self, v: Self::V, to: &mut [f32; LANES]) {
            unsafe {
                _mm256_storeu_ps(to.as_mut_ptr(), v[0]);
                _mm256_storeu_ps(to[8..].as_mut_ptr(), v[1]);
            }
        }
        #[inline(always)]
        fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
            unsafe { [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])] }
        }
    }
}

/// Lanes of a sum, whatever the machine's width: the order of additions is part of the result.
pub(crate) const LANES: usize = 16;

/// e to the power x, within 2 units in the last place for x in [-87, 88]; clamped outside.
///
/// x is split into n ln 2 + r with n whole and |r| <= ln 2 / 2; a polynomial of degree 6 gives e^r and n goes into the
/// exponent's bits. Source: Cephes `expf`, Moshier 1989.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Adding 1.5 * 2^23 rounds to a whole number, which then stands in the low bits of the sum.
    const ROUND: f32 = 12_582_912.0;
    let x = if x < 88.0 { x } else { 88.0 };
    let x = if x > -87.0 { x } else { -87.0 };
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    // ln 2 in two parts: the first has few bits, so that n times it is exact.
    let r = n.mul_add(-0.693_359_4, x);
    let r = n.mul_add(2.121_944_4e-4, r);
    let mut p = 1.987_569_1e-4_f32;
    p = p.mul_add(r, 1.398_2e-3);
    p = p.mul_add(r, 8.333_452e-3);
    p = p.mul_add(r, 4.166_579_6e-2);
    p = p.mul_add(r, 1.666_666_5e-1);
    p = p.mul_add(r, 0.5);
    let y = (p * r).mul_add(r, r) + 1.0;
    y * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3F80_0000))
}

/// Folds sixteen lanes in one order: halves are added until one number is left.
#[inline(always)]
pub(crate) fn fold(mut lanes: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// Sum of products of two rows of one length.
#[inline(always)]
pub(crate) fn dot_lanes(x: &[f32], y: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (x_blocks, x_tail) = x.as_chunks::<LANES>();
    let (y_blocks, y_tail) = y.as_chunks::<LANES>();
    for (a, b) in x_blocks.iter().zip(y_blocks) {
        for lane in 0..LANES {
            lanes[lane] = a[lane].mul_add(b[lane], lanes[lane]);
        }
    }
    for (lane, (a, b)) in x_tail.iter().zip(y_tail).enumerate() {
        lanes[lane] = a.mul_add(*b, lanes[lane]);
    }
    fold(lanes)
}

simd! {
    /// Sum of products of two rows `[n]`.
    pub fn dot(x: &[f32], y: &[f32]) -> f32 {
        dot_lanes(x, y)
    }
}

simd! {
    /// Largest element of a row `[n]`; negative infinity when it is empty.
    pub fn max(x: &[f32]) -> f32 {
        max_lanes(x)
    }
}

/// The body of [`max`].
#[inline(always)]
pub(crate) fn max_lanes(x: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (blocks, tail) = x.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            lanes[lane] = if block[lane] > lanes[lane] {
                block[lane]
            } else {
                lanes[lane]
            };
        }
    }
    for (lane, &value) in tail.iter().enumerate() {
        lanes[lane] = if value > lanes[lane] { value } else { lanes[lane] };
    }
    lanes
        .into_iter()
        .fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a })
}

simd! {
    /// Replaces each element of a row `[n]` by e^(x - shift) and gives the sum of the new row.
    pub fn exp_and_sum(x: &mut [f32], shift: f32) -> f32 {
        exp_and_sum_lanes(x, shift)
    }
}

/// The body of [`exp_and_sum`].
#[inline(always)]
pub(crate) fn exp_and_sum_lanes(x: &mut [f32], shift: f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (blocks, tail) = x.as_chunks_mut::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            block[lane] = exp(block[lane] - shift);
            lanes[lane] += block[lane];
        }
    }
    for (lane, value) in tail.iter_mut().enumerate() {
        *value = exp(*value - shift);
        lanes[lane] += *value;
    }
    fold(lanes)
}

simd! {
    /// Multiplies a row `[n]` by a number.
    pub fn scale(x: &mut [f32], factor: f32) {
        for value in x {
            *value *= factor;
        }
    }
}

simd! {
    /// Adds a row to another, both `[n]`.
    pub fn add_to(sum: &mut [f32], x: &[f32]) {
        for (s, v) in sum.iter_mut().zip(x) {
            *s += v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_two_units_in_the_last_place() {
        let mut worst = 0.0_f64;
        for step in -8700..8800 {
            let x = step as f32 * 0.01;
            let exact = (x as f64).exp();
            worst = worst.max((exp(x) as f64 - exact).abs() / exact);
        }
        assert!(worst < 2.0 * f32::EPSILON as f64, "worst relative error {worst:e}");
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(1e9).is_finite() && exp(-1e9) >= 0.0);
    }

    #[test]
    fn tails_of_every_width_are_counted() {
        for n in 0..70 {
            let x: Vec<f32> = (0..n).map(|i| (i % 7) as f32 - 2.0).collect();
            let exact: f32 = x.iter().map(|v| v * v).sum();
            assert_eq!(dot(&x, &x), exact);
            let largest = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            assert_eq!(max(&x), largest);
            let mut row = vec![3.0; n];
            assert_eq!(exp_and_sum(&mut row, 3.0), n as f32);
            add_to(&mut row, &x);
            scale(&mut row, 2.0);
            assert!(row.iter().zip(&x).all(|(a, b)| *a == 2.0 * (b + 1.0)));
        }
    }
}
