//! Which tensors a Llama model has, and their shapes: what the config promises and the file must hold.

use training::config::LlamaConfig;

/// The nine tensors of a layer, in the order of the forward pass.
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

/// All tensors of a model, in the order of the forward pass. Lazy: a forged layer count costs nothing until names are taken.
pub fn tensor_names(config: &LlamaConfig) -> impl Iterator<Item = String> + use<> {
    let layers =
        (0..config.num_layers).flat_map(|layer| LAYER_TENSORS.map(|tensor| format!("model.layers.{layer}.{tensor}")));
    let head = (!config.tie_word_embeddings).then(|| HEAD.to_string());
    std::iter::once(EMBEDDING.to_string())
        .chain(layers)
        .chain(std::iter::once(FINAL_NORM.to_string()))
        .chain(head)
}

/// The shape of a tensor, `[out_features, in_features]` for a matrix; `None` when a model of this config has no such tensor.
pub fn expected_shape(config: &LlamaConfig, name: &str) -> Option<Vec<usize>> {
    let hidden = config.hidden_size;
    match name {
        EMBEDDING | HEAD => return Some(vec![config.vocab_size, hidden]),
        FINAL_NORM => return Some(vec![hidden]),
        _ => {}
    }
    let (layer, tensor) = name.strip_prefix("model.layers.")?.split_once('.')?;
    // `parse` also takes "+1" and "01", which no writer produces.
    let index: usize = layer.parse().ok()?;
    if index >= config.num_layers || index.to_string() != layer {
        return None;
    }
    let (q, kv, ffn) = (
        config.num_heads.checked_mul(config.head_dim)?,
        config.num_kv_heads.checked_mul(config.head_dim)?,
        config.intermediate_size,
    );
    match tensor {
        "input_layernorm.weight" | "post_attention_layernorm.weight" => Some(vec![hidden]),
        "self_attn.q_proj.weight" => Some(vec![q, hidden]),
        "self_attn.k_proj.weight" | "self_attn.v_proj.weight" => Some(vec![kv, hidden]),
        "self_attn.o_proj.weight" => Some(vec![hidden, q]),
        "mlp.gate_proj.weight" | "mlp.up_proj.weight" => Some(vec![ffn, hidden]),
        "mlp.down_proj.weight" => Some(vec![hidden, ffn]),
        _ => None,
    }
}

/// Tensors that old writers left in the file and no model reads: the rotary frequencies, which follow from the config.
pub fn is_leftover(name: &str) -> bool {
    name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".attn.masked_bias")
}
