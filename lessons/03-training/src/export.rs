//! Writes a trained model as a Hugging Face folder, and reads such a folder back for evaluation.

use crate::checkpoint::{CheckpointError, write_whole};
use crate::config::LlamaConfig;
use crate::model::{Llama, NamedTensor};
use half::bf16;
use layout::pool::Pool;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde_json::json;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The form of a conversation (ChatML), as `tokenizer_config.json` states it.
pub const CHAT_TEMPLATE: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// Writes config.json, model.safetensors (bf16, rounded to nearest even), generation_config.json and
/// tokenizer_config.json. The tokenizer is written where it is trained.
///
/// # Errors
/// When the file system refuses.
pub fn write_folder(folder: &Path, model: &Llama) -> Result<(), CheckpointError> {
    std::fs::create_dir_all(folder).map_err(|source| CheckpointError::File {
        path: folder.to_owned(),
        source,
    })?;
    write_whole(&folder.join("model.safetensors"), &weights_bf16(model))?;
    let write_json = |name: &str, value: serde_json::Value| {
        let text = serde_json::to_string_pretty(&value).expect("plain data") + "\n";
        write_whole(&folder.join(name), text.as_bytes())
    };
    write_json("config.json", config_json(&model.config))?;
    // Two tokens end a text: the end of a document, and the end of a turn in a conversation.
    write_json(
        "generation_config.json",
        json!({"bos_token_id": 0, "eos_token_id": [0, 2], "do_sample": false}),
    )?;
    write_json(
        "tokenizer_config.json",
        json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": model.config.max_seq_len,
            "bos_token": "<|endoftext|>",
            "eos_token": "<|endoftext|>",
            "unk_token": "<|endoftext|>",
            "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
            "add_bos_token": false,
            "clean_up_tokenization_spaces": false,
            "chat_template": CHAT_TEMPLATE,
        }),
    )
}

/// The shape as `transformers` writes it.
fn config_json(config: &LlamaConfig) -> serde_json::Value {
    let mut value = serde_json::to_value(config).expect("plain data");
    let extra = json!({
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "attention_bias": false,
        "attention_dropout": 0.0,
        "mlp_bias": false,
        "initializer_range": 0.02,
        "pretraining_tp": 1,
        "rope_scaling": null,
        "use_cache": true,
        "torch_dtype": "bfloat16",
        "bos_token_id": 0,
        "eos_token_id": 0,
    });
    let (Some(target), Some(extra)) = (value.as_object_mut(), extra.as_object()) else {
        unreachable!("both are objects");
    };
    target.extend(extra.clone());
    value
}

/// A safetensors file of all weights in bf16.
fn weights_bf16(model: &Llama) -> Vec<u8> {
    let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = model
        .tensors()
        .into_iter()
        .map(|tensor| {
            let halves: Vec<bf16> = tensor.data.iter().map(|&x| bf16::from_f32(x)).collect();
            (tensor.name, tensor.shape, bytemuck::cast_slice(&halves).to_vec())
        })
        .collect();
    let views = tensors.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::BF16, shape.clone(), bytes).expect("shape and bytes agree");
        (name, view)
    });
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    safetensors::serialize(views, Some(metadata)).expect("views are whole")
}

/// Reads a folder that [`write_folder`] wrote. (Lesson 04 reads any Hugging Face folder.)
///
/// # Errors
/// When a file is missing, can not be parsed, or does not fit the shape.
pub fn read_folder(folder: &Path, pool: Arc<Pool>) -> anyhow::Result<Llama> {
    use anyhow::Context;
    let path = folder.join("config.json");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let config: LlamaConfig = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    read_weights(folder, config, pool)
}

/// Reads the `model.safetensors` of a folder whose shape is known.
///
/// # Errors
/// As [`read_folder`].
pub fn read_weights(folder: &Path, config: LlamaConfig, pool: Arc<Pool>) -> anyhow::Result<Llama> {
    use anyhow::Context;
    config.validate()?;
    let path = folder.join("model.safetensors");
    let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let file = SafeTensors::deserialize(&bytes).with_context(|| path.display().to_string())?;
    let tensors: Vec<NamedTensor> = file
        .iter()
        .map(|(name, view)| NamedTensor {
            name: name.to_owned(),
            shape: view.shape().to_vec(),
            data: to_f32(&view),
        })
        .collect();
    Ok(Llama::from_tensors(config, &tensors, pool)?)
}

/// The numbers of a bf16 or f32 tensor; [`write_folder`] writes no other type.
fn to_f32(view: &TensorView<'_>) -> Vec<f32> {
    match view.dtype() {
        Dtype::BF16 => {
            let pairs = view.data().as_chunks::<2>().0;
            pairs.iter().map(|&b| bf16::from_le_bytes(b).to_f32()).collect()
        }
        Dtype::F32 => {
            let fours = view.data().as_chunks::<4>().0;
            fours.iter().map(|&b| f32::from_le_bytes(b)).collect()
        }
        _ => Vec::new(),
    }
}
