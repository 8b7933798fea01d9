//! Writing a Hugging Face folder: the other direction, for conversion and for files to measure with.
//!
//! The bytes go through the `safetensors` crate, which is the format's reference; reading is what this lesson does by hand.

use crate::bytes::reason;
use crate::config::{ModelConfig, RopeScaling};
use crate::dtype::Dtype;
use crate::error::{LoadError, Result};
use crate::exercises::bf16_bits;
use crate::source::WeightSource;
use half::f16;
use safetensors::tensor::View;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// One tensor that is made when it is written, so that only one is in memory at a time.
struct Lazy<'a> {
    source: &'a dyn WeightSource,
    name: String,
    shape: Vec<usize>,
    dtype: Dtype,
    /// The first error, and what to call after each tensor; the writer can be told of neither.
    shared: &'a RefCell<Shared<'a>>,
}

struct Shared<'a> {
    error: Option<LoadError>,
    done: usize,
    progress: &'a mut dyn FnMut(usize),
}

impl View for Lazy<'_> {
    fn dtype(&self) -> safetensors::Dtype {
        match self.dtype {
            Dtype::F16 => safetensors::Dtype::F16,
            Dtype::BF16 => safetensors::Dtype::BF16,
            _ => safetensors::Dtype::F32,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let mut values = Vec::new();
        let read = self.source.read_f32(&self.name, &mut values);
        let mut shared = self.shared.borrow_mut();
        shared.done += 1;
        let done = shared.done;
        (shared.progress)(done);
        if let Err(error) = read {
            shared.error.get_or_insert(error);
            return vec![0; self.data_len()].into();
        }
        narrow(&values, self.dtype).into()
    }

    fn data_len(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.block_bytes()
    }
}

/// Values as bytes of a plain type, rounded to nearest even.
///
/// # Panics
/// For the block types, which nobody here writes.
pub fn narrow(values: &[f32], dtype: Dtype) -> Vec<u8> {
    match dtype {
        Dtype::F32 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Dtype::F16 => (values.iter()).flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect(),
        Dtype::BF16 => (values.iter()).flat_map(|v| bf16_bits(*v).to_le_bytes()).collect(),
        Dtype::Q8_0 | Dtype::Q4_0 | Dtype::Q4_1 => panic!("{dtype} is never written"),
    }
}

/// Writes all tensors of `source` to one safetensors file. `progress` hears the number of tensors done.
///
/// The file appears under its name only when it is whole: it is written beside it and renamed. Cost: memory for the largest
/// tensor, twice.
///
/// # Errors
/// A tensor that can not be read, or a file that can not be written.
pub fn write_weights(
    path: &Path,
    source: &dyn WeightSource,
    dtype: Dtype,
    progress: &mut dyn FnMut(usize),
) -> Result<()> {
    let shared = RefCell::new(Shared {
        error: None,
        done: 0,
        progress,
    });
    let tensors = source.names().into_iter().map(|name| {
        let shape = source.info(&name).map(|info| info.shape).unwrap_or_default();
        let lazy = Lazy {
            source,
            name: name.clone(),
            shape,
            dtype,
            shared: &shared,
        };
        (name, lazy)
    });
    let metadata = HashMap::from([("format".to_string(), "pt".to_string())]);
    let partial = partial_path(path);
    // The crate makes its file readable for the owner only; an ordinary file shows what is usual here.
    let rights = (File::create(&partial).and_then(|file| file.metadata()))
        .map_err(|error| unwritable(path, &error))?
        .permissions();
    let written = safetensors::serialize_to_file(tensors, Some(metadata), &partial);
    let error = shared.borrow_mut().error.take();
    let result = match (error, written) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(LoadError::Unwritable {
            path: path.display().to_string(),
            reason: error.to_string(),
        }),
        (None, Ok(())) => std::fs::set_permissions(&partial, rights)
            .and_then(|()| std::fs::rename(&partial, path))
            .map_err(|error| unwritable(path, &error)),
    };
    if result.is_err() {
        // Nothing more can be done about a file that can not even be removed.
        let _ = std::fs::remove_file(&partial);
    }
    result
}

/// Writes a small file whole or not at all.
///
/// # Errors
/// [`LoadError::Unwritable`].
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    let partial = partial_path(path);
    std::fs::write(&partial, text)
        .and_then(|()| std::fs::rename(&partial, path))
        .map_err(|error| unwritable(path, &error))
}

fn partial_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".partial");
    path.with_file_name(name)
}

/// Names the file that the operating system would not take.
pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> LoadError {
    LoadError::Unwritable {
        path: path.display().to_string(),
        reason: reason(error),
    }
}

/// The content of config.json, with the keys of Hugging Face.
pub fn config_json(config: &ModelConfig, dtype: Dtype) -> Value {
    let mut json = serde_json::to_value(&config.llama).unwrap_or_default();
    json["architectures"] = json!(["LlamaForCausalLM"]);
    json["model_type"] = json!("llama");
    json["hidden_act"] = json!("silu");
    json["attention_bias"] = json!(false);
    json["mlp_bias"] = json!(false);
    json["torch_dtype"] = match dtype {
        Dtype::F16 => json!("float16"),
        Dtype::BF16 => json!("bfloat16"),
        _ => json!("float32"),
    };
    json["rope_scaling"] = match config.rope_scaling {
        RopeScaling::None => Value::Null,
        RopeScaling::Linear { factor } => json!({"rope_type": "linear", "factor": factor}),
        RopeScaling::Llama3 {
            factor,
            low_freq_factor,
            high_freq_factor,
            original_max_position_embeddings,
        } => json!({
            "rope_type": "llama3",
            "factor": factor,
            "low_freq_factor": low_freq_factor,
            "high_freq_factor": high_freq_factor,
            "original_max_position_embeddings": original_max_position_embeddings,
        }),
    };
    if config.padded_vocabulary {
        json["padded_vocabulary"] = json!(true);
    }
    add_ids(&mut json, config);
    json
}

/// The content of generation_config.json.
pub fn generation_json(config: &ModelConfig) -> Value {
    let mut json = json!({"do_sample": false});
    add_ids(&mut json, config);
    json
}

fn add_ids(json: &mut Value, config: &ModelConfig) {
    if let Some(bos) = config.bos_token_id {
        json["bos_token_id"] = json!(bos);
    }
    match config.eos_token_ids[..] {
        [] => {}
        [eos] => json["eos_token_id"] = json!(eos),
        ref several => json["eos_token_id"] = json!(several),
    }
}
