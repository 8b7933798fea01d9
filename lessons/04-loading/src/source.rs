//! The trait of everything that has weights: safetensors files, GGUF files and a random generator.

use crate::dtype::{Dtype, TensorInfo, first_that_is_not};
use crate::error::{LoadError, Result};
use crate::exercises::bf16_bits;
use half::{bf16, f16};

/// Tensors by name. Names are those of Hugging Face with the `model.` prefix (`model.embed_tokens.weight`,
/// `model.layers.0.self_attn.q_proj.weight`, …, `lm_head.weight`), whatever names the file has. Matrices are
/// `[out_features, in_features]`, row-major, and the rows of queries and keys have the half-split rotary order.
///
/// A tied head has no name of its own: use the embedding.
pub trait WeightSource {
    /// All names, in the order of the forward pass.
    fn names(&self) -> Vec<String>;

    /// Type and shape, without reading the values.
    fn info(&self, name: &str) -> Option<TensorInfo>;

    /// Replaces `out` by the values of a tensor. Cost: reads the stored bytes once, writes 4 bytes a value. A buffer
    /// that is passed again is not allocated again.
    ///
    /// # Errors
    /// No such tensor, or a value that is NaN or infinite.
    fn read_f32(&self, name: &str, out: &mut Vec<f32>) -> Result<()>;

    /// Replaces `out` by the values of a tensor as bf16, rounded to nearest even where they are stored in a finer type.
    ///
    /// # Errors
    /// No such tensor, or a value that is NaN or infinite or becomes infinite in rounding.
    fn read_bf16(&self, name: &str, out: &mut Vec<bf16>) -> Result<()> {
        read_rounded(self, name, out)
    }

    /// Bytes on disk of all tensors; 0 for random weights.
    fn stored_bytes(&self) -> u64;
}

/// [`WeightSource::read_bf16`] by way of the f32 values.
pub(crate) fn read_rounded(source: &(impl WeightSource + ?Sized), name: &str, out: &mut Vec<bf16>) -> Result<()> {
    let mut values = Vec::new();
    source.read_f32(name, &mut values)?;
    out.clear();
    out.extend(values.iter().map(|value| bf16::from_bits(bf16_bits(*value))));
    check_range(name, &values, Dtype::BF16)
}

/// Refuses values that become infinite when they are rounded to `dtype`.
pub(crate) fn check_range(name: &str, values: &[f32], dtype: Dtype) -> Result<()> {
    // Half a step above the largest value; from there on rounding to nearest gives infinity.
    let (largest, end) = match dtype {
        Dtype::F16 => (f16::MAX.to_f32(), 65_520.0),
        Dtype::BF16 => (bf16::MAX.to_f32(), f32::from_bits(0x7f7f_8000)),
        _ => return Ok(()),
    };
    match first_that_is_not(values, |value| value.abs() < end) {
        None => Ok(()),
        Some(index) => Err(LoadError::OutOfRange {
            name: name.into(),
            dtype,
            largest,
            value: values[index],
            index,
        }),
    }
}
