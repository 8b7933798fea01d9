//! Converts the block formats of GGUF to `f32`.
//!
//! ```text
//! Q8_0   | scale f16 | 32 x i8                         x[i] = scale * q[i]
//! Q4_0   | scale f16 | 16 bytes                        x[i] = scale * (q[i] - 8)
//! Q4_1   | scale f16 | min f16 | 16 bytes              x[i] = scale * q[i] + min
//!        byte j holds value j in its low half and value j + 16 in its high half
//! Q5_0   | scale f16 | fifth bits: u32 | 16 bytes      x[i] = scale * (q[i] - 16)
//! Q5_1   | scale f16 | min f16 | fifth bits | 16 bytes x[i] = scale * q[i] + min
//!        bit i of the fifth bits is worth 16 in value i
//! Q4_K, Q5_K, Q6_K                                      see `k_blocks`
//! ```
//! Source: `ggml-common.h` and `ggml-quants.c` of llama.cpp. Blocks run along a row, so each row begins with a new
//! block.

use super::k_blocks;
use crate::dtype::{Dtype, widen};
use half::f16;

/// Appends the values behind `bytes` to `out`. Cost: reads `bytes` once, writes 4 bytes a value.
///
/// # Panics
/// If `bytes` is not a whole number of blocks (of values, for the plain types).
pub fn dequantize(dtype: Dtype, bytes: &[u8], out: &mut Vec<f32>) {
    assert_eq!(bytes.len() % dtype.block_bytes(), 0, "whole blocks");
    match dtype {
        Dtype::F32 | Dtype::F16 | Dtype::BF16 => widen(dtype, bytes, out),
        Dtype::Q8_0 => blocks::<34, 32>(bytes, out, |block, values| {
            let scale = half(block[0], block[1]);
            for (value, q) in values.iter_mut().zip(&block[2..]) {
                *value = scale * f32::from(*q as i8);
            }
        }),
        Dtype::Q4_0 => blocks::<18, 32>(bytes, out, |block, values| {
            let scale = half(block[0], block[1]);
            nibbles(&block[2..], values, |q| scale * (f32::from(q) - 8.0));
        }),
        Dtype::Q4_1 => blocks::<20, 32>(bytes, out, |block, values| {
            let (scale, min) = (half(block[0], block[1]), half(block[2], block[3]));
            // Two roundings, as in the reference: no fused multiply-add.
            nibbles(&block[4..], values, |q| scale * f32::from(q) + min);
        }),
        Dtype::Q5_0 => blocks::<22, 32>(bytes, out, |block, values| {
            let scale = half(block[0], block[1]);
            with_fifth_bits(&block[2..], values, |q| scale * (f32::from(q) - 16.0));
        }),
        Dtype::Q5_1 => blocks::<24, 32>(bytes, out, |block, values| {
            let (scale, min) = (half(block[0], block[1]), half(block[2], block[3]));
            with_fifth_bits(&block[4..], values, |q| scale * f32::from(q) + min);
        }),
        Dtype::Q4K => blocks::<144, 256>(bytes, out, k_blocks::q4),
        Dtype::Q5K => blocks::<176, 256>(bytes, out, k_blocks::q5),
        Dtype::Q6K => blocks::<210, 256>(bytes, out, k_blocks::q6),
    }
}

pub(super) fn half(low: u8, high: u8) -> f32 {
    f16::from_le_bytes([low, high]).to_f32()
}

/// Converts block after block: `N` bytes into `V` values each.
fn blocks<const N: usize, const V: usize>(bytes: &[u8], out: &mut Vec<f32>, block: impl Fn(&[u8; N], &mut [f32; V])) {
    for bytes in bytes.as_chunks::<N>().0 {
        let mut values = [0.0; V];
        block(bytes, &mut values);
        out.extend_from_slice(&values);
    }
}

/// Fills the values from 4-bit numbers: low halves first, then high halves.
fn nibbles(bytes: &[u8], values: &mut [f32; 32], value: impl Fn(u8) -> f32) {
    let (low, high) = values.split_at_mut(16);
    for ((low, high), byte) in low.iter_mut().zip(high).zip(bytes) {
        *low = value(byte & 0x0f);
        *high = value(byte >> 4);
    }
}

/// As [`nibbles`], for 5-bit numbers: four bytes with the fifth bits, then their lower bits.
fn with_fifth_bits(bytes: &[u8], values: &mut [f32; 32], value: impl Fn(u8) -> f32) {
    let (fifth, low) = bytes.split_at(4);
    let mut numbers = [0.0; 32];
    nibbles(low, &mut numbers, f32::from);
    for (index, (out, low)) in values.iter_mut().zip(numbers).enumerate() {
        *out = value(low as u8 | (fifth[index / 8] >> (index % 8) & 1) << 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_halves_come_first_and_scales_are_half_precision() {
        let scale = f16::from_f32(0.5).to_le_bytes();
        let min = f16::from_f32(-1.0).to_le_bytes();
        let packed: Vec<u8> = (0..16).map(|j| j | (15 - j) << 4).collect();
        let (mut q4_0, mut q4_1, mut q8_0) = (Vec::new(), Vec::new(), Vec::new());
        dequantize(Dtype::Q4_0, &[&scale[..], &packed].concat(), &mut q4_0);
        dequantize(Dtype::Q4_1, &[&scale[..], &min, &packed].concat(), &mut q4_1);
        let bytes: Vec<u8> = (0..32).map(|i| (i as i8 - 16) as u8).collect();
        dequantize(Dtype::Q8_0, &[&scale[..], &bytes].concat(), &mut q8_0);
        for i in 0..16 {
            let q = i as f32;
            assert_eq!((q4_0[i], q4_0[31 - i]), ((q - 8.0) * 0.5, (q - 8.0) * 0.5));
            assert_eq!((q4_1[i], q4_1[31 - i]), (q * 0.5 - 1.0, q * 0.5 - 1.0));
            assert_eq!((q8_0[i], q8_0[i + 16]), ((q - 16.0) * 0.5, q * 0.5));
        }
    }
}
