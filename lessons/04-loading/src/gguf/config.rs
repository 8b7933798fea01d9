//! Makes a [`ModelConfig`] of the metadata of a GGUF file.
//!
//! The keys of the sizes begin with the name of the architecture: `llama.block_count`, `qwen2.block_count`.

use super::{Gguf, ROPE_FREQS, blocks, rotary};
use crate::architecture::{Architecture, MODEL_TYPES};
use crate::config::{ModelConfig, RopeScaling};
use crate::dtype::Dtype;
use crate::error::{LoadError, Result};
use crate::json::in_vocabulary;
use training::TokenId;
use training::config::LlamaConfig;

/// Reads the sizes, the rotary scaling and the ids.
///
/// # Errors
/// Another architecture, a key that is missing or has another type, or an unknown rotary scaling.
pub fn model_config(gguf: &Gguf) -> Result<ModelConfig> {
    let name = gguf.metadata().text("general.architecture")?.unwrap_or("nothing");
    let Some(architecture) = Architecture::of_type(name) else {
        return Err(bad_key(gguf, "general.architecture", MODEL_TYPES, name));
    };
    let keys = Keys { gguf, architecture };
    let llama = keys.sizes()?;
    llama.validate()?;
    keys.refuse_unsupported(&llama)?;
    let mut eos_token_ids = Vec::new();
    for key in ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"] {
        eos_token_ids.extend(id(gguf, key, llama.vocab_size)?);
    }
    eos_token_ids.sort();
    eos_token_ids.dedup();
    Ok(ModelConfig {
        architecture,
        dtype: commonest_dtype(gguf),
        bos_token_id: id(gguf, "tokenizer.ggml.bos_token_id", llama.vocab_size)?,
        eos_token_ids,
        rope_scaling: keys.rope_scaling(&llama)?,
        llama,
        padded_vocabulary: architecture.padded_vocabulary,
    })
}

fn id(gguf: &Gguf, key: &str, vocab_size: usize) -> Result<Option<TokenId>> {
    match gguf.metadata().count(key)? {
        Some(id) if id >= vocab_size => Err(bad_key(gguf, key, &in_vocabulary(vocab_size), &id.to_string())),
        id => Ok(id.map(|id| TokenId(id as u32))),
    }
}

/// The keys of one architecture.
struct Keys<'a> {
    gguf: &'a Gguf,
    architecture: &'static Architecture,
}

impl Keys<'_> {
    fn key(&self, rest: &str) -> String {
        format!("{}.{rest}", self.architecture.model_type)
    }

    fn count(&self, rest: &str) -> Result<Option<usize>> {
        self.gguf.metadata().count(&self.key(rest))
    }

    fn number(&self, rest: &str) -> Result<Option<f64>> {
        self.gguf.metadata().number(&self.key(rest))
    }

    fn bad(&self, rest: &str, expected: &str, found: impl ToString) -> LoadError {
        bad_key(self.gguf, &self.key(rest), expected, &found.to_string())
    }

    fn needed(&self, rest: &str) -> Result<usize> {
        (self.count(rest)?).ok_or_else(|| self.bad(rest, "a whole number", "nothing"))
    }

    fn sizes(&self) -> Result<LlamaConfig> {
        let hidden_size = self.needed("embedding_length")?;
        let num_heads = self.needed("attention.head_count")?;
        let head_dim = match self.count("attention.key_length")? {
            Some(head_dim) => head_dim,
            None if num_heads > 0 && hidden_size % num_heads == 0 => hidden_size / num_heads,
            None => self.needed("attention.key_length")?,
        };
        let Some(rms_norm_eps) = self.number("attention.layer_norm_rms_epsilon")? else {
            return Err(self.bad("attention.layer_norm_rms_epsilon", "a number", "nothing"));
        };
        // Older files lack the key; the embedding has one row for each piece.
        let embedding = self.gguf.tensor("token_embd.weight");
        let rows = embedding.and_then(|(entry, _)| entry.shape.first().copied());
        let vocab_size = match self.count("vocab_size")?.or(rows) {
            Some(vocab_size) => vocab_size,
            None => self.needed("vocab_size")?,
        };
        Ok(LlamaConfig {
            vocab_size,
            hidden_size,
            intermediate_size: self.needed("feed_forward_length")?,
            num_layers: self.needed("block_count")?,
            num_heads,
            num_kv_heads: self.count("attention.head_count_kv")?.unwrap_or(num_heads),
            head_dim,
            rope_theta: self.number("rope.freq_base")?.unwrap_or(10_000.0),
            rms_norm_eps,
            max_seq_len: self.needed("context_length")?,
            tie_word_embeddings: self.gguf.tensor("output.weight").is_none(),
        })
    }

    /// Refuses what the workbook would compute wrongly.
    fn refuse_unsupported(&self, llama: &LlamaConfig) -> Result<()> {
        for key in ["rope.dimension_count", "attention.value_length"] {
            if let Some(found) = self.count(key)?.filter(|found| *found != llama.head_dim) {
                return Err(self.bad(key, &format!("the width of a head, {}", llama.head_dim), found));
            }
        }
        if let Some(experts) = self.count("expert_count")?.filter(|experts| *experts > 0) {
            return Err(self.bad("expert_count", "0", experts));
        }
        // 0 means no window.
        let window = self.count("attention.sliding_window")?.filter(|window| *window > 0);
        match window.filter(|window| *window < llama.max_seq_len) {
            None => Ok(()),
            Some(window) => {
                let expected = format!("nothing, or at least the context length {}", llama.max_seq_len);
                Err(self.bad("attention.sliding_window", &expected, window))
            }
        }
    }

    /// Linear scaling is in the metadata, in older files under another key. A factor without a type means linear
    /// scaling too, and 0 means none, as in llama.cpp. Of llama3 scaling the file has only the divisors, as a tensor.
    fn rope_scaling(&self, llama: &LlamaConfig) -> Result<RopeScaling> {
        let unknown = |found: &str| LoadError::UnknownRopeScaling {
            file: self.gguf.file().into(),
            found: found.into(),
        };
        let kind = self.gguf.metadata().text(&self.key("rope.scaling.type"))?;
        let factor = match kind {
            Some("none") => None,
            None | Some("linear") => match self.number("rope.scaling.factor")? {
                Some(factor) => Some(factor),
                None => self.number("rope.scale_linear")?,
            },
            Some(other) => return Err(unknown(other)),
        };
        let factor = factor.filter(|factor| *factor != 0.0 && *factor != 1.0);
        if let Some(factor) = factor.filter(|factor| !(factor.is_finite() && *factor > 0.0)) {
            return Err(self.bad("rope.scaling.factor", "a positive number", factor));
        }
        let Some((entry, bytes)) = self.gguf.tensor(ROPE_FREQS) else {
            return Ok(factor.map_or(RopeScaling::None, |factor| RopeScaling::Linear { factor }));
        };
        if factor.is_some() {
            return Err(unknown("linear and rope_freqs together"));
        }
        let mut divisors = Vec::new();
        blocks::dequantize(entry.dtype, bytes, &mut divisors);
        rotary::recognise_llama3(&divisors, llama.head_dim, llama.rope_theta)
            .ok_or_else(|| unknown("rope_freqs of another rule than llama3's"))
    }
}

/// The type with the most bytes.
fn commonest_dtype(gguf: &Gguf) -> Dtype {
    let mut bytes = std::collections::BTreeMap::new();
    for entry in gguf.tensors() {
        *bytes.entry(entry.dtype).or_insert(0) += entry.end - entry.begin;
    }
    let most = bytes.into_iter().max_by_key(|(_, bytes)| *bytes);
    most.map_or(Dtype::F32, |(dtype, _)| dtype)
}

pub(super) fn bad_key(gguf: &Gguf, key: &str, expected: &str, found: &str) -> LoadError {
    LoadError::BadConfig {
        file: gguf.file().into(),
        key: key.into(),
        expected: expected.into(),
        found: found.into(),
        advice: "the workbook does not compute this; choose another file",
    }
}
