//! `config.json` and `generation_config.json`: the sizes, the rotary scaling and the ids that end a text.
//!
//! A setting that changes the numbers and is not supported is an error: another architecture, biases, another
//! activation, another rotary scaling. Unknown keys that change nothing are ignored.

use crate::dtype::Dtype;
use crate::error::{LoadError, Result};
use crate::json::{Json, describe};
use serde_json::Value;
use training::TokenId;
use training::config::LlamaConfig;

/// How rotary angles are scaled for contexts longer than those of training.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum RopeScaling {
    /// No scaling.
    #[default]
    None,
    /// Every position is divided by `factor`.
    Linear {
        /// Any positive number; at least 1 in practice.
        factor: f64,
    },
    /// Llama 3.1's rule of three bands: fast frequencies stay, slow ones are divided by `factor`, those between are
    /// mixed. Source: `_compute_llama3_parameters` in transformers.
    Llama3 {
        /// Divisor of the slow frequencies.
        factor: f64,
        /// A wave that fits fewer than this many times into the original context is slow.
        low_freq_factor: f64,
        /// A wave that fits more than this many times into the original context is fast.
        high_freq_factor: f64,
        /// Context of the first training.
        original_max_position_embeddings: usize,
    },
}

/// The settings of a model, from the JSON files of its folder.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// The sizes. In an open folder `tie_word_embeddings` means that the files have no head, whatever config.json says.
    pub llama: LlamaConfig,
    /// How rotary angles are scaled.
    pub rope_scaling: RopeScaling,
    /// The id that begins a text; `None` if the model has none.
    pub bos_token_id: Option<TokenId>,
    /// The ids that end a text: the union of config.json, generation_config.json and the tokenizer, ascending.
    pub eos_token_ids: Vec<TokenId>,
    /// Type in which most weights are stored, from config.json; F32 if it names none.
    pub dtype: Dtype,
    /// Whether the embedding may have more rows than the tokenizer has pieces (the workbook's own key,
    /// `padded_vocabulary`).
    pub padded_vocabulary: bool,
}

/// Name of the file with the sizes.
pub const CONFIG_FILE: &str = "config.json";
/// Name of the file with the ids and default settings of generation.
pub const GENERATION_FILE: &str = "generation_config.json";

/// Reads config.json, and generation_config.json if there is one.
///
/// # Errors
/// Broken JSON, a key that is missing or has another type, sizes that contradict each other, or a model that this
/// workbook would compute wrongly.
pub fn parse(config_json: &str, generation_json: Option<&str>) -> Result<ModelConfig> {
    let json = Json::parse(CONFIG_FILE, config_json)?;
    refuse_other_models(&json)?;
    let llama = sizes(&json)?;
    llama.validate()?;
    let rope_scaling = rope_scaling(&json)?;
    let mut eos_token_ids = json.ids("eos_token_id")?;
    let mut bos_token_id = json.ids("bos_token_id")?.first().copied();
    if let Some(text) = generation_json {
        let generation = Json::parse(GENERATION_FILE, text)?;
        eos_token_ids.extend(generation.ids("eos_token_id")?);
        bos_token_id = bos_token_id.or(generation.ids("bos_token_id")?.first().copied());
    }
    eos_token_ids.sort();
    eos_token_ids.dedup();
    Ok(ModelConfig {
        llama,
        rope_scaling,
        bos_token_id,
        eos_token_ids,
        dtype: dtype(&json)?,
        padded_vocabulary: json.flag("padded_vocabulary")?.unwrap_or(false),
    })
}

/// The sizes, with the defaults of transformers' `LlamaConfig` for missing keys.
fn sizes(json: &Json) -> Result<LlamaConfig> {
    let hidden_size = json.needed("hidden_size")?;
    let num_heads = json.needed("num_attention_heads")?;
    let head_dim = match json.count("head_dim")? {
        Some(head_dim) => head_dim,
        None if num_heads > 0 && hidden_size % num_heads == 0 => hidden_size / num_heads,
        None => {
            let expected = "a number, as num_attention_heads does not divide hidden_size";
            return Err(json.bad("head_dim", expected, "nothing"));
        }
    };
    let nested_theta = match json.rope_parameters() {
        Some(parameters) => parameters.number("rope_theta")?,
        None => None,
    };
    Ok(LlamaConfig {
        vocab_size: json.needed("vocab_size")?,
        hidden_size,
        intermediate_size: json.needed("intermediate_size")?,
        num_layers: json.needed("num_hidden_layers")?,
        num_heads,
        num_kv_heads: json.count("num_key_value_heads")?.unwrap_or(num_heads),
        head_dim,
        rope_theta: json.number("rope_theta")?.or(nested_theta).unwrap_or(10_000.0),
        rms_norm_eps: json.number("rms_norm_eps")?.unwrap_or(1e-6),
        max_seq_len: json.count("max_position_embeddings")?.unwrap_or(2048),
        tie_word_embeddings: json.flag("tie_word_embeddings")?.unwrap_or(false),
    })
}

/// Reads `rope_scaling`, or `rope_parameters` as newer writers call it. Its kind stands under `rope_type` or, in older
/// files, `type`.
fn rope_scaling(json: &Json) -> Result<RopeScaling> {
    let Some(scaling) = json.rope_parameters() else {
        return Ok(RopeScaling::None);
    };
    let kind = match scaling.get("rope_type").or(scaling.get("type")) {
        Some(Value::String(kind)) => kind.as_str(),
        found => return Err(json.bad("rope_scaling", "its kind under `rope_type` or `type`", describe(found))),
    };
    let positive = |key: &'static str| match scaling.number(key)? {
        Some(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err(json.bad(key, "a positive number in rope_scaling", describe(scaling.get(key)))),
    };
    match kind {
        "default" => Ok(RopeScaling::None),
        "linear" => Ok(RopeScaling::Linear {
            factor: positive("factor")?,
        }),
        "llama3" => {
            let (low, high) = (positive("low_freq_factor")?, positive("high_freq_factor")?);
            if low >= high {
                let expected = "a number above low_freq_factor in rope_scaling";
                return Err(json.bad("high_freq_factor", expected, high.to_string()));
            }
            Ok(RopeScaling::Llama3 {
                factor: positive("factor")?,
                low_freq_factor: low,
                high_freq_factor: high,
                original_max_position_embeddings: scaling.needed("original_max_position_embeddings")?,
            })
        }
        other => Err(LoadError::UnknownRopeScaling {
            file: json.file.into(),
            found: other.into(),
        }),
    }
}

/// Refuses models that would load and then compute nonsense.
fn refuse_other_models(json: &Json) -> Result<()> {
    const ADVICE: &str = "the workbook runs the plain Llama architecture; choose another model";
    for (key, right, expected) in [("model_type", "llama", "`llama`"), ("hidden_act", "silu", "`silu`")] {
        if let Some(Value::String(text)) = json.get(key)
            && text != right
        {
            return Err(json.error(key, expected, format!("`{text}`"), ADVICE));
        }
    }
    for key in ["attention_bias", "mlp_bias"] {
        if json.flag(key)? == Some(true) {
            return Err(json.error(key, "false", "true", ADVICE));
        }
    }
    if json.get("quantization_config").is_some() {
        let advice = "fetch the model in f32, f16 or bf16";
        return Err(json.error("quantization_config", "nothing", "quantized weights", advice));
    }
    Ok(())
}

fn dtype(json: &Json) -> Result<Dtype> {
    let keys = ["dtype", "torch_dtype"];
    let Some((key, value)) = keys.iter().find_map(|key| Some((*key, json.get(key)?))) else {
        return Ok(Dtype::F32);
    };
    match value.as_str() {
        Some("float32") => Ok(Dtype::F32),
        Some("float16") => Ok(Dtype::F16),
        Some("bfloat16") => Ok(Dtype::BF16),
        _ => {
            let expected = "`float32`, `float16` or `bfloat16`";
            let advice = "convert the model to one of these types";
            Err(json.error(key, expected, describe(Some(value)), advice))
        }
    }
}
