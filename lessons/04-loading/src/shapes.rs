//! The tensors of a model and their shapes: the config implies them, and the file must hold them.

use crate::architecture::Architecture;
use crate::config::ModelConfig;
use crate::error::{LoadError, Result};
use std::collections::{BTreeMap, BTreeSet};
use training::config::LlamaConfig;

/// The nine tensors that a layer of each architecture has, in the order of the forward pass.
pub const LAYER_TENSORS: [&str; 9] = [
    "input_layernorm.weight",
    "self_attn.q_proj.weight",
    "self_attn.k_proj.weight",
    "self_attn.v_proj.weight",
    "self_attn.o_proj.weight",
    "post_attention_layernorm.weight",
    "mlp.gate_proj.weight",
    "mlp.up_proj.weight",
    "mlp.down_proj.weight",
];

/// Canonical name of the embedding.
pub const EMBEDDING: &str = "model.embed_tokens.weight";
/// Canonical name of the last norm.
pub const FINAL_NORM: &str = "model.norm.weight";
/// Canonical name of the head; absent when it is tied to the embedding.
pub const HEAD: &str = "lm_head.weight";

/// All tensors of a model, in the order of the forward pass. Lazy, so that a forged number of layers costs nothing.
pub fn tensor_names(config: &LlamaConfig, architecture: &'static Architecture) -> impl Iterator<Item = String> + use<> {
    // What an architecture adds belongs to the queries, keys and values, which are the second to fourth tensors.
    let (first, rest) = LAYER_TENSORS.split_at(4);
    let tensors = [first, architecture.added, rest];
    let layers = (0..config.num_layers).flat_map(move |layer| {
        let tensors = tensors.into_iter().flatten();
        tensors.map(move |tensor| format!("model.layers.{layer}.{tensor}"))
    });
    let head = (!config.tie_word_embeddings).then(|| HEAD.to_string());
    std::iter::once(EMBEDDING.to_string())
        .chain(layers)
        .chain(std::iter::once(FINAL_NORM.to_string()))
        .chain(head)
}

/// The shape of a tensor, `[out_features, in_features]` for a matrix; `None` if a model of this config and architecture
/// has no such tensor.
pub fn expected_shape(config: &LlamaConfig, architecture: &Architecture, name: &str) -> Option<Vec<usize>> {
    let hidden = config.hidden_size;
    match name {
        EMBEDDING | HEAD => return Some(vec![config.vocab_size, hidden]),
        FINAL_NORM => return Some(vec![hidden]),
        _ => {}
    }
    let (layer, tensor) = name.strip_prefix("model.layers.")?.split_once('.')?;
    // `parse` also accepts "+1" and "01", which no writer produces.
    let index: usize = layer.parse().ok()?;
    if index >= config.num_layers || index.to_string() != layer {
        return None;
    }
    let (q, kv, ffn) = (
        config.num_heads.checked_mul(config.head_dim)?,
        config.num_kv_heads.checked_mul(config.head_dim)?,
        config.intermediate_size,
    );
    if !LAYER_TENSORS.contains(&tensor) && !architecture.added.contains(&tensor) {
        return None;
    }
    match tensor {
        "input_layernorm.weight" | "post_attention_layernorm.weight" => Some(vec![hidden]),
        "self_attn.q_proj.weight" => Some(vec![q, hidden]),
        "self_attn.k_proj.weight" | "self_attn.v_proj.weight" => Some(vec![kv, hidden]),
        "self_attn.q_proj.bias" => Some(vec![q]),
        "self_attn.k_proj.bias" | "self_attn.v_proj.bias" => Some(vec![kv]),
        "self_attn.q_norm.weight" | "self_attn.k_norm.weight" => Some(vec![config.head_dim]),
        "self_attn.o_proj.weight" => Some(vec![hidden, q]),
        "mlp.gate_proj.weight" | "mlp.up_proj.weight" => Some(vec![ffn, hidden]),
        "mlp.down_proj.weight" => Some(vec![hidden, ffn]),
        _ => None,
    }
}

/// Whether an old writer left this tensor in the file. No model reads it: rotary frequencies follow from the config.
fn is_leftover(name: &str) -> bool {
    // The name without a prefix is that of the one table that newer writers kept beside the layers.
    name == "rotary_emb.inv_freq"
        || name.ends_with(".rotary_emb.inv_freq")
        || name.ends_with(".attn.masked_bias")
        || name.ends_with(".attn_rot_embd.weight")
}

/// Compares the tensors of a file, by stored name, with those that the config implies. Returns each canonical name with
/// its stored name, in the order of the forward pass. `stored_as` maps a canonical name to the one in the file; `None`
/// means that the file lacks it.
///
/// # Errors
/// The first tensor that is missing, has another shape, or has no place in the model.
pub(crate) fn match_names(
    model: &str,
    config: &ModelConfig,
    shapes: &BTreeMap<&str, &[usize]>,
    stored_as: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>> {
    let model = || model.to_string();
    let (llama, architecture) = (&config.llama, config.architecture);
    let mut used = BTreeSet::new();
    let mut names = Vec::new();
    // ANCHOR: check
    for name in tensor_names(llama, architecture) {
        let stored = stored_as(&name).unwrap_or_else(|| name.clone());
        let Some(found) = shapes.get(stored.as_str()) else {
            return Err(LoadError::MissingTensor {
                model: model(),
                name: stored,
            });
        };
        let expected = expected_shape(llama, architecture, &name).unwrap_or_default();
        if **found != expected {
            return Err(LoadError::WrongShape {
                model: model(),
                name: stored,
                expected,
                found: found.to_vec(),
            });
        }
        used.insert(stored.clone());
        names.push((name, stored));
    }
    // ANCHOR_END: check
    match shapes.keys().find(|name| !used.contains(**name) && !is_leftover(name)) {
        None => Ok(names),
        Some(name) => Err(LoadError::ExtraTensor {
            model: model(),
            name: name.to_string(),
            model_type: architecture.model_type,
            num_layers: llama.num_layers,
        }),
    }
}
