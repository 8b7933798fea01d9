//! The gate of the feed-forward block.

use super::exp;
use layout::simd::Isa;

for_each_isa! {
    /// out = silu(gate) * up, with silu(x) = x / (1 + e^-x). Shapes: all three of one length. Cost: one exponential and one
    /// division an element.
    ///
    /// # Panics
    /// If the lengths differ.
    silu_times, silu_times_on, silu_times_avx2, silu_times_plain,
    (gate: &[f32], up: &[f32], out: &mut [f32]), silu_times_avx512
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

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn silu_times_avx512(gate: &[f32], up: &[f32], out: &mut [f32]) {
    silu_times_plain(gate, up, out);
}
