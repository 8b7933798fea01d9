//! Writes Hugging Face folders, for conversion and for measurements.
//!
//! A safetensors file is written here by hand, as it is read; the tests read it with the `safetensors` crate, the
//! reference of the format.

use crate::architecture::Window;
use crate::bytes::reason;
use crate::config::{ModelConfig, RopeScaling};
use crate::dtype::Dtype;
use crate::error::{LoadError, Result};
use crate::exercises::bf16_bits;
use crate::source::{WeightSource, check_range};
use half::f16;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Values as bytes of a plain type, rounded to nearest even.
///
/// # Panics
/// For the block types, which the workbook never writes.
pub fn narrow(values: &[f32], dtype: Dtype) -> Vec<u8> {
    match dtype {
        Dtype::F32 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Dtype::F16 => (values.iter()).flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect(),
        Dtype::BF16 => (values.iter()).flat_map(|v| bf16_bits(*v).to_le_bytes()).collect(),
        _ => panic!("{dtype} is never written"),
    }
}

/// Writes all tensors of `source` to one safetensors file. `progress` is called with the number of tensors done.
///
/// The file is written under another name and renamed when it is whole. Cost: memory for the largest tensor, twice.
///
/// # Errors
/// A tensor that can not be read, or a file that can not be written.
pub fn write_weights(
    path: &Path,
    source: &dyn WeightSource,
    dtype: Dtype,
    progress: &mut dyn FnMut(usize),
) -> Result<()> {
    let partial = partial_path(path);
    let result = write_tensors(&partial, source, dtype, progress)
        .and_then(|()| std::fs::rename(&partial, path).map_err(|error| unwritable(path, &error)));
    if result.is_err() {
        // If the partial file can not be removed, it stays; the first error is the one to report.
        let _ = std::fs::remove_file(&partial);
    }
    result
}

fn write_tensors(path: &Path, source: &dyn WeightSource, dtype: Dtype, progress: &mut dyn FnMut(usize)) -> Result<()> {
    let names = source.names();
    let mut header = json!({"__metadata__": {"format": "pt"}});
    let mut begin = 0;
    for name in &names {
        let shape = source.info(name).map(|info| info.shape).unwrap_or_default();
        let end = begin + shape.iter().product::<usize>() * dtype.block_bytes();
        header[name] = json!({"dtype": dtype.name(), "shape": shape, "data_offsets": [begin, end]});
        begin = end;
    }
    let mut header = header.to_string();
    // Spaces after the JSON, so that the data begins at a multiple of 8: some readers expect aligned values.
    header.extend(std::iter::repeat_n(
        ' ',
        header.len().next_multiple_of(8) - header.len(),
    ));

    let failed = |error: std::io::Error| unwritable(path, &error);
    let mut file = File::create(path).map_err(failed)?;
    file.write_all(&(header.len() as u64).to_le_bytes()).map_err(failed)?;
    file.write_all(header.as_bytes()).map_err(failed)?;
    let mut values = Vec::new();
    for (done, name) in names.iter().enumerate() {
        source.read_f32(name, &mut values)?;
        check_range(name, &values, dtype)?;
        file.write_all(&narrow(&values, dtype)).map_err(failed)?;
        progress(done + 1);
    }
    Ok(())
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

/// The error for a file that the operating system does not let us write.
pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> LoadError {
    LoadError::Unwritable {
        path: path.display().to_string(),
        reason: reason(error),
    }
}

/// The content of config.json, with the keys of Hugging Face.
pub fn config_json(config: &ModelConfig, dtype: Dtype) -> Value {
    let mut json = serde_json::to_value(&config.llama).unwrap_or_default();
    json["architectures"] = json!([config.architecture.class]);
    json["model_type"] = json!(config.architecture.model_type);
    json["hidden_act"] = json!("silu");
    json["attention_bias"] = json!(false);
    json["mlp_bias"] = json!(false);
    match config.architecture.window {
        Window::Never => {}
        // Without the key a window of the default length would be in use.
        Window::IfSet { .. } => json["sliding_window"] = Value::Null,
        Window::IfFlagged => json["use_sliding_window"] = json!(false),
    }
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
