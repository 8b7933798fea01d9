//! The number formats of the two file formats, their sizes, and the conversion of bytes to `f32`.
//!
//! ```text
//!          sign  exponent  fraction            values
//! f32       1       8        23     4 bytes    1
//! f16       1       5        10     2 bytes    1      finer than bf16, but nothing above 65504
//! bf16      1       8         7     2 bytes    1      the upper half of an f32
//! Q8_0          f16 scale + 32 x i8     34 bytes   32     GGUF blocks: x = scale * q
//! Q4_0          f16 scale + 32 x 4 bit  18 bytes   32     x = scale * (q - 8)
//! Q4_1      f16 scale, min + 32 x 4 bit 20 bytes   32     x = scale * q + min
//! Q5_0, Q5_1    as these, with a fifth bit in 4 bytes more
//! Q4_K      256 x 4 bit with two scales  144 bytes  256     see `gguf::k_blocks`
//! Q5_K      256 x 5 bit                  176 bytes  256
//! Q6_K      256 x 6 bit                  210 bytes  256
//! ```

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use serde::{Deserialize, Serialize};

/// Number format of a stored tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Dtype {
    /// IEEE single precision.
    F32,
    /// IEEE half precision.
    F16,
    /// The upper half of an `f32`.
    BF16,
    /// GGUF: blocks of 32 with an `f16` scale and 8-bit integers.
    #[serde(rename = "Q8_0")]
    Q8_0,
    /// GGUF: blocks of 32 with an `f16` scale and 4-bit integers around 8.
    #[serde(rename = "Q4_0")]
    Q4_0,
    /// GGUF: blocks of 32 with an `f16` scale, an `f16` minimum and 4-bit integers.
    #[serde(rename = "Q4_1")]
    Q4_1,
    /// GGUF: as Q4_0, with 5-bit integers around 16.
    #[serde(rename = "Q5_0")]
    Q5_0,
    /// GGUF: as Q4_1, with 5-bit integers.
    #[serde(rename = "Q5_1")]
    Q5_1,
    /// GGUF: blocks of 256 with 4-bit integers; each 32 have a scale and a minimum of 6 bits.
    #[serde(rename = "Q4_K")]
    Q4K,
    /// GGUF: as Q4_K, with 5-bit integers.
    #[serde(rename = "Q5_K")]
    Q5K,
    /// GGUF: blocks of 256 with 6-bit integers around 32; each 16 have a scale of 8 bits.
    #[serde(rename = "Q6_K")]
    Q6K,
}

impl Dtype {
    /// Name, values of a block, bytes of a block.
    const fn layout(self) -> (&'static str, usize, usize) {
        match self {
            Self::F32 => ("F32", 1, 4),
            Self::F16 => ("F16", 1, 2),
            Self::BF16 => ("BF16", 1, 2),
            Self::Q8_0 => ("Q8_0", 32, 34),
            Self::Q4_0 => ("Q4_0", 32, 18),
            Self::Q4_1 => ("Q4_1", 32, 20),
            Self::Q5_0 => ("Q5_0", 32, 22),
            Self::Q5_1 => ("Q5_1", 32, 24),
            Self::Q4K => ("Q4_K", 256, 144),
            Self::Q5K => ("Q5_K", 256, 176),
            Self::Q6K => ("Q6_K", 256, 210),
        }
    }

    /// Number of values that are stored together: 32 or 256 for the blocks of GGUF, else 1.
    pub const fn block_len(self) -> usize {
        self.layout().1
    }

    /// Bytes of one block.
    pub const fn block_bytes(self) -> usize {
        self.layout().2
    }

    /// Bytes of `num_values` values; `None` if they do not fill whole blocks or the size overflows.
    pub fn bytes(self, num_values: u64) -> Option<u64> {
        let block_len = self.block_len() as u64;
        if !num_values.is_multiple_of(block_len) {
            return None;
        }
        (num_values / block_len).checked_mul(self.block_bytes() as u64)
    }

    /// The name in a safetensors header, in a GGUF listing and in tables.
    pub const fn name(self) -> &'static str {
        self.layout().0
    }
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The type and shape of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TensorInfo {
    /// How its values are stored.
    pub dtype: Dtype,
    /// Row-major, outermost first: `[out_features, in_features]` for a matrix.
    pub shape: Vec<usize>,
}

impl TensorInfo {
    /// Number of values. The shape was checked when the file was opened, so the product can not overflow.
    pub fn num_values(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Appends the values behind `bytes` to `out`, as `f32`. Exact: every f16 and bf16 value is an f32 value.
///
/// `bytes` need no alignment, because a safetensors header may have any length. Cost: reads `bytes` once, writes 4
/// bytes a value.
///
/// # Panics
/// If `bytes` is not a whole number of values, or `dtype` is a block type.
pub fn widen(dtype: Dtype, bytes: &[u8], out: &mut Vec<f32>) {
    assert_eq!(bytes.len() % dtype.block_bytes(), 0, "whole values");
    let begin = out.len();
    match dtype {
        Dtype::F32 => out.extend(bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b))),
        // The hardware has an instruction for f16, which `half` uses where it exists. It needs aligned input, so the
        // values pass through a buffer.
        Dtype::F16 => {
            out.resize(begin + bytes.len() / 2, 0.0);
            let mut buffer = [f16::ZERO; 1024];
            for (from, to) in bytes.chunks(2048).zip(out[begin..].chunks_mut(1024)) {
                let buffer = &mut buffer[..to.len()];
                for (value, pair) in buffer.iter_mut().zip(from.as_chunks::<2>().0) {
                    *value = f16::from_le_bytes(*pair);
                }
                buffer.convert_to_f32_slice(to);
            }
        }
        Dtype::BF16 => {
            let values = bytes.as_chunks::<2>().0.iter();
            out.extend(values.map(|b| f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16)));
        }
        _ => panic!("{dtype} values come in blocks"),
    }
}

/// Index of the first value that is NaN or infinite.
pub fn first_not_finite(values: &[f32]) -> Option<usize> {
    first_that_is_not(values, f32::is_finite)
}

/// As [`first_not_finite`], for bf16.
pub fn first_not_finite_bf16(values: &[bf16]) -> Option<usize> {
    first_that_is_not(values, bf16::is_finite)
}

/// Index of the first value for which `is_finite` is false.
pub(crate) fn first_that_is_not<T: Copy>(values: &[T], is_finite: impl Fn(T) -> bool) -> Option<usize> {
    const CHUNK: usize = 4096;
    // Without an early exit the loop over a chunk uses vector registers. Only a chunk with such a value is searched.
    let all_finite = |chunk: &[T]| chunk.iter().fold(true, |all, value| all & is_finite(*value));
    let (index, chunk) = values.chunks(CHUNK).enumerate().find(|(_, chunk)| !all_finite(chunk))?;
    let within = chunk.iter().position(|value| !is_finite(*value))?;
    Some(index * CHUNK + within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_value_widens_exactly_from_any_alignment() {
        let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        for skip in 0..3 {
            let mut shifted = vec![0; skip];
            shifted.extend(&all);
            let mut out = Vec::new();
            widen(Dtype::F16, &shifted[skip..], &mut out);
            widen(Dtype::BF16, &shifted[skip..], &mut out);
            assert_eq!(out.len(), 2 * 65536);
            for bits in 0..=u16::MAX {
                let half = f16::from_bits(bits).to_f32();
                let brain = bf16::from_bits(bits).to_f32();
                let (a, b) = (out[bits as usize], out[65536 + bits as usize]);
                assert!(a.to_bits() == half.to_bits() || half.is_nan() && a.is_nan());
                assert!(b.to_bits() == brain.to_bits() || brain.is_nan() && b.is_nan());
            }
        }
    }

    #[test]
    fn a_value_that_is_not_finite_is_found_in_any_place() {
        for len in [1, 7, 4096, 4097, 10_000] {
            let mut values = vec![1.0_f32; len];
            assert_eq!(first_not_finite(&values), None);
            for (place, bad) in [(0, f32::NAN), (len / 2, f32::INFINITY), (len - 1, -f32::NAN)] {
                values[place] = bad;
                assert_eq!(first_not_finite(&values), Some(place));
                let brains: Vec<bf16> = values.iter().map(|v| bf16::from_f32(*v)).collect();
                assert_eq!(first_not_finite_bf16(&brains), Some(place));
                values[place] = -2.0;
            }
        }
    }

    #[test]
    fn sizes_of_blocks_are_checked() {
        assert_eq!(Dtype::Q4_1.bytes(64), Some(40));
        assert_eq!(Dtype::Q4_1.bytes(33), None);
        assert_eq!(Dtype::F32.bytes(u64::MAX / 2), None);
        assert_eq!(Dtype::BF16.bytes(0), Some(0));
    }
}
