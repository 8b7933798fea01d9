//! `lesson04 convert MODEL FOLDER`: writes a GGUF file (or any other model that opens) as a Hugging Face folder.
//!
//! A 4-bit number times an f16 scale has up to 15 significant bits; bf16 keeps 8 of them, f16 has 11. A converter that
//! rounds is a second quantizer. So the folder gets the smallest type that holds every value of the file exactly, which
//! for quantized files is f32, unless the caller asks for another type.

use crate::checkpoint::SINGLE_FILE;
use crate::config::{CONFIG_FILE, GENERATION_FILE};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::folder::{ModelFolder, TOKENIZER_CONFIG_FILE};
use crate::source::WeightSource;
use crate::tokenizer::TOKENIZER_FILE;
use crate::write::{config_json, generation_json, unwritable, write_text, write_weights};
use half::f16;
use serde_json::json;
use std::path::Path;

/// The result of a conversion.
#[derive(Debug)]
pub struct Converted {
    /// Type of all weights in the folder.
    pub dtype: Dtype,
    /// Number of tensors.
    pub num_tensors: usize,
    /// Bytes of weights in the GGUF file.
    pub stored_bytes: u64,
    /// Bytes of weights in the folder.
    pub written_bytes: u64,
}

/// The smallest plain type that holds every value of `source` exactly. Cost: one pass over the values, less if one of
/// the first tensors needs f32.
///
/// # Errors
/// A tensor that can not be read.
pub fn exact_dtype(source: &dyn WeightSource) -> Result<Dtype> {
    let (mut bf16, mut half) = (true, true);
    let mut values = Vec::new();
    for name in source.names() {
        source.read_f32(&name, &mut values)?;
        bf16 = bf16 && values.iter().all(|v| v.to_bits() & 0xffff == 0);
        half = half && values.iter().all(|v| f16::from_f32(*v).to_f32() == *v);
        if !bf16 && !half {
            break;
        }
    }
    Ok(match (bf16, half) {
        (true, _) => Dtype::BF16,
        (false, true) => Dtype::F16,
        (false, false) => Dtype::F32,
    })
}

/// Writes a model as a folder; `dtype` overrides [`exact_dtype`]. `progress` is called with (tensors done, all
/// tensors). Files of an earlier conversion are replaced. config.json is written last, so a folder without it is not
/// finished.
///
/// # Errors
/// Weights that can not be read, or a folder that can not be written.
pub fn convert(
    model: &ModelFolder,
    folder: &Path,
    dtype: Option<Dtype>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Converted> {
    let source = &*model.weights;
    let dtype = match dtype {
        Some(dtype) => dtype,
        None => exact_dtype(source)?,
    };
    std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    let names = source.names();
    let weights = folder.join(SINGLE_FILE);
    write_weights(&weights, source, dtype, &mut |done| progress(done, names.len()))?;
    let write = |name: &str, value: &serde_json::Value| write_text(&folder.join(name), &format!("{value:#}\n"));
    if let Some(tokenizer) = &model.tokenizer {
        write_text(&folder.join(TOKENIZER_FILE), &tokenizer.to_json()?)?;
    }
    write(TOKENIZER_CONFIG_FILE, &tokenizer_config(model))?;
    write(GENERATION_FILE, &generation_json(&model.config))?;
    write(CONFIG_FILE, &config_json(&model.config, dtype))?;
    let num_values: usize = (names.iter())
        .filter_map(|name| Some(source.info(name)?.num_values()))
        .sum();
    Ok(Converted {
        dtype,
        num_tensors: names.len(),
        stored_bytes: source.stored_bytes(),
        written_bytes: (num_values * dtype.block_bytes()) as u64,
    })
}

fn tokenizer_config(model: &ModelFolder) -> serde_json::Value {
    json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": model.bos_token,
        "eos_token": model.eos_token,
        "chat_template": model.chat_template,
        "clean_up_tokenization_spaces": false,
        "model_max_length": model.config.llama.max_seq_len,
    })
}
