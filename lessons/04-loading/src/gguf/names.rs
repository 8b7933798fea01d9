//! The tensor names of GGUF files.

use crate::shapes::{EMBEDDING, FINAL_NORM, HEAD};

const LAYER: [(&str, &str); 11] = [
    ("input_layernorm", "attn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("post_attention_layernorm", "ffn_norm"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
];

/// GGUF's name of a tensor with this canonical name; `None` if no model has such a tensor.
pub fn gguf_name(name: &str) -> Option<String> {
    match name {
        EMBEDDING => return Some("token_embd.weight".into()),
        FINAL_NORM => return Some("output_norm.weight".into()),
        HEAD => return Some("output.weight".into()),
        _ => {}
    }
    let (layer, tensor) = name.strip_prefix("model.layers.")?.split_once('.')?;
    let (tensor, kind) = tensor
        .rsplit_once('.')
        .filter(|(_, kind)| ["weight", "bias"].contains(kind))?;
    let (_, theirs) = LAYER.iter().find(|(ours, _)| *ours == tensor)?;
    Some(format!("blk.{layer}.{theirs}.{kind}"))
}
