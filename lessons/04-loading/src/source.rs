//! The trait of everything that has weights: safetensors files, GGUF files and a random generator.

use crate::dtype::{TensorInfo, first_not_finite_bf16};
use crate::error::{LoadError, Result};
use crate::exercises::bf16_bits;
use half::bf16;

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
    match first_not_finite_bf16(out) {
        None => Ok(()),
        Some(index) => Err(LoadError::NotFinite {
            model: "in bf16".into(),
            name: name.into(),
            index,
            value: out[index].to_f32(),
        }),
    }
}
