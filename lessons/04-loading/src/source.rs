//! Where weights come from: one question, answered by safetensors, by GGUF and by a random generator.

use crate::dtype::TensorInfo;
use crate::error::Result;
use half::bf16;

/// Tensors by name. Names are those of Hugging Face with the `model.` prefix (`model.embed_tokens.weight`,
/// `model.layers.0.self_attn.q_proj.weight`, …, `lm_head.weight`), whatever the file calls them; matrices are
/// `[out_features, in_features]`, row-major, and query and key rows stand in the half-split rotary order.
///
/// A tied head has no name of its own: use the embedding.
pub trait WeightSource {
    /// All names, in the order in which the forward pass uses them.
    fn names(&self) -> Vec<String>;

    /// Type and shape, without reading the values.
    fn info(&self, name: &str) -> Option<TensorInfo>;

    /// Replaces `out` by the tensor's values. Cost: reads the stored bytes once, writes 4 bytes a value; a buffer that is
    /// passed again is not allocated again.
    ///
    /// # Errors
    /// No such tensor, or a value that is NaN or infinite.
    fn read_f32(&self, name: &str, out: &mut Vec<f32>) -> Result<()>;

    /// Replaces `out` by the tensor's values as bf16, rounded to nearest even where they are stored finer.
    ///
    /// # Errors
    /// No such tensor, or a value that is NaN or infinite, or becomes infinite in rounding.
    fn read_bf16(&self, name: &str, out: &mut Vec<bf16>) -> Result<()>;

    /// Bytes on disk of all tensors (0 when they are made up).
    fn stored_bytes(&self) -> u64;
}
