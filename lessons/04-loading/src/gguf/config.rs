//! Makes a [`ModelConfig`] of the metadata of a GGUF file.

use super::{Gguf, ROPE_FREQS, blocks, rotary};
use crate::config::{ModelConfig, RopeScaling};
use crate::dtype::Dtype;
use crate::error::{LoadError, Result};
use training::TokenId;
use training::config::LlamaConfig;

/// Reads the sizes, the rotary scaling and the ids.
///
/// # Errors
/// Another architecture, a key that is missing or has another type, or an unknown rotary scaling.
pub fn model_config(gguf: &Gguf) -> Result<ModelConfig> {
    let metadata = gguf.metadata();
    let architecture = metadata.text("general.architecture").unwrap_or("nothing");
    if architecture != "llama" {
        return Err(bad_key(gguf, "general.architecture", "`llama`", architecture));
    }
    if metadata.count("llama.expert_count").unwrap_or(0) > 0 {
        return Err(bad_key(gguf, "llama.expert_count", "0", "experts"));
    }
    let llama = sizes(gguf)?;
    llama.validate()?;
    let rope_scaling = rope_scaling(gguf, &llama)?;
    let id = |key| (metadata.count(key)).map(|id| TokenId(id as u32));
    let mut eos_token_ids: Vec<TokenId> = (["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"])
        .into_iter()
        .filter_map(id)
        .collect();
    eos_token_ids.sort();
    eos_token_ids.dedup();
    Ok(ModelConfig {
        dtype: commonest_dtype(gguf),
        bos_token_id: id("tokenizer.ggml.bos_token_id"),
        eos_token_ids,
        rope_scaling,
        llama,
        padded_vocabulary: false,
    })
}

fn sizes(gguf: &Gguf) -> Result<LlamaConfig> {
    let metadata = gguf.metadata();
    let needed =
        |key: &'static str| (metadata.count(key)).ok_or_else(|| bad_key(gguf, key, "a whole number", "nothing"));
    let hidden_size = needed("llama.embedding_length")?;
    let num_heads = needed("llama.attention.head_count")?;
    let head_dim = match metadata.count("llama.attention.key_length") {
        Some(head_dim) => head_dim,
        None if num_heads > 0 && hidden_size % num_heads == 0 => hidden_size / num_heads,
        None => needed("llama.attention.key_length")?,
    };
    let turned = metadata.count("llama.rope.dimension_count");
    if turned.is_some_and(|turned| turned != head_dim) {
        return Err(bad_key(
            gguf,
            "llama.rope.dimension_count",
            "the width of a head",
            &turned.unwrap_or(0).to_string(),
        ));
    }
    let num_kv_heads = match metadata.get("llama.attention.head_count_kv") {
        Some(_) => needed("llama.attention.head_count_kv")?,
        None => num_heads,
    };
    let Some(rms_norm_eps) = metadata.number("llama.attention.layer_norm_rms_epsilon") else {
        let key = "llama.attention.layer_norm_rms_epsilon";
        return Err(bad_key(gguf, key, "a number", "nothing"));
    };
    // Older files lack the key; the embedding has one row for each piece.
    let embedding = gguf.tensor("token_embd.weight");
    let rows = embedding.and_then(|(entry, _)| entry.shape.first().copied());
    let vocab_size = match metadata.count("llama.vocab_size").or(rows) {
        Some(vocab_size) => vocab_size,
        None => needed("llama.vocab_size")?,
    };
    Ok(LlamaConfig {
        vocab_size,
        hidden_size,
        intermediate_size: needed("llama.feed_forward_length")?,
        num_layers: needed("llama.block_count")?,
        num_heads,
        num_kv_heads,
        head_dim,
        rope_theta: metadata.number("llama.rope.freq_base").unwrap_or(10_000.0),
        rms_norm_eps,
        max_seq_len: needed("llama.context_length")?,
        tie_word_embeddings: gguf.tensor("output.weight").is_none(),
    })
}

/// Linear scaling is in the metadata. Of llama3 scaling the file has only the divisors, as a tensor.
fn rope_scaling(gguf: &Gguf, llama: &LlamaConfig) -> Result<RopeScaling> {
    let metadata = gguf.metadata();
    let unknown = |found: &str| LoadError::UnknownRopeScaling {
        file: gguf.file().into(),
        found: found.into(),
    };
    let linear = match metadata.text("llama.rope.scaling.type") {
        None | Some("none") => None,
        Some("linear") => metadata.number("llama.rope.scaling.factor"),
        Some(other) => return Err(unknown(other)),
    };
    if let Some(factor) = linear.filter(|factor| *factor != 1.0) {
        if !(factor.is_finite() && factor > 0.0) {
            let found = factor.to_string();
            return Err(bad_key(gguf, "llama.rope.scaling.factor", "a positive number", &found));
        }
        return Ok(RopeScaling::Linear { factor });
    }
    let Some((entry, bytes)) = gguf.tensor(ROPE_FREQS) else {
        return Ok(RopeScaling::None);
    };
    let mut divisors = Vec::new();
    blocks::dequantize(entry.dtype, bytes, &mut divisors);
    rotary::recognise_llama3(&divisors, llama.head_dim, llama.rope_theta)
        .ok_or_else(|| unknown("rope_freqs of another rule than llama3's"))
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

pub(super) fn bad_key(gguf: &Gguf, key: &'static str, expected: &'static str, found: &str) -> LoadError {
    LoadError::BadConfig {
        file: gguf.file().into(),
        key,
        expected,
        found: found.into(),
        advice: "the workbook runs the plain Llama architecture; choose another file",
    }
}
