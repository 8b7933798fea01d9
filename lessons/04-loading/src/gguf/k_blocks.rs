//! The "K" formats of GGUF: blocks of 256 values whose parts have scales of their own, which are quantized too.
//!
//! ```text
//! Q4_K   scale f16 | min f16 | 12 bytes: 8 scales, 8 mins of 6 bits | 128 bytes
//! Q5_K   the same, with 32 bytes of fifth bits in front of the 128
//!        x = (scale * s[part]) * q - (min * m[part])            part: 32 values, q unsigned
//! Q6_K   128 bytes of low bits | 64 bytes of high bits | 16 scales i8 | scale f16
//!        x = (scale * s[part]) * (q - 32)                       part: 16 values
//! ```
//! The products are rounded in this order in the reference too, so the values have the same bits. Source:
//! `ggml-common.h` and `ggml-quants.c` of llama.cpp.

use super::blocks::half;

/// Scale and minimum of each of the eight parts, times the two of the block. Twelve bytes hold sixteen numbers of 6
/// bits: those of parts 0 to 3 in the lower bits of bytes 0 to 7, those of parts 4 to 7 in bytes 8 to 11, with their
/// upper two bits in the upper two of bytes 0 to 7.
fn scales(head: &[u8]) -> [(f32, f32); 8] {
    let (scale, min) = (half(head[0], head[1]), half(head[2], head[3]));
    let packed = &head[4..16];
    std::array::from_fn(|part| {
        let (s, m) = match part {
            0..4 => (packed[part] & 0x3f, packed[part + 4] & 0x3f),
            _ => (
                packed[part + 4] & 0x0f | packed[part - 4] >> 6 << 4,
                packed[part + 4] >> 4 | packed[part] >> 6 << 4,
            ),
        };
        (scale * f32::from(s), min * f32::from(m))
    })
}

/// The values of parts with a scale and a minimum. `low` has 32 bytes for two parts: the low halves are the first one's
/// numbers. Bit `part` of `fifth(i)` is worth 16 in number `i` of the part.
fn with_minimum(head: &[u8], low: &[u8], fifth: impl Fn(usize) -> u8, values: &mut [f32; 256]) {
    let parts = scales(head).into_iter().zip(values.as_chunks_mut::<32>().0);
    for (part, ((scale, min), values)) in parts.enumerate() {
        let low = &low[part / 2 * 32..][..32];
        for (i, (value, byte)) in values.iter_mut().zip(low).enumerate() {
            let four = if part % 2 == 0 { byte & 0x0f } else { byte >> 4 };
            let q = four | (fifth(i) >> part & 1) << 4;
            *value = scale * f32::from(q) - min;
        }
    }
}

/// A block of Q4_K.
pub(super) fn q4(block: &[u8; 144], values: &mut [f32; 256]) {
    with_minimum(&block[..16], &block[16..], |_| 0, values);
}

/// A block of Q5_K.
pub(super) fn q5(block: &[u8; 176], values: &mut [f32; 256]) {
    with_minimum(&block[..16], &block[48..], |i| block[16 + i], values);
}

/// A block of Q6_K. Each half of it has 128 values: 64 bytes hold their low four bits, 32 bytes their high two.
pub(super) fn q6(block: &[u8; 210], values: &mut [f32; 256]) {
    let scale = half(block[208], block[209]);
    for (index, value) in values.iter_mut().enumerate() {
        // A quarter of a half is 32 values: two share the low bytes, and all four share the high ones.
        let (side, quarter, i) = (index / 128, index / 32 % 4, index % 32);
        let low = block[64 * side + quarter % 2 * 32 + i] >> (quarter / 2 * 4) & 0x0f;
        let high = block[128 + 32 * side + i] >> (2 * quarter) & 3;
        let part = f32::from(block[192 + index / 16] as i8);
        *value = scale * part * (f32::from(low | high << 4) - 32.0);
    }
}
