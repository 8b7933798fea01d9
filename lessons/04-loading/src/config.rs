//! `config.json` and `generation_config.json`: the sizes, the rotary scaling and the ids that end a text.
//!
//! A setting that changes the numbers and is not supported is an error: an architecture that is not in the table
//! ([`crate::architecture`]), other biases, another activation, another rotary scaling, a window. Unknown keys that
//! change nothing are ignored.

use crate::architecture::{Architecture, LLAMA, MODEL_TYPES, Window};
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
    /// What the model adds to Llama.
    pub architecture: &'static Architecture,
    /// How rotary angles are scaled.
    pub rope_scaling: RopeScaling,
    /// The id that begins a text; `None` if the model has none.
    pub bos_token_id: Option<TokenId>,
    /// The ids that end a text: the union of config.json, generation_config.json and the tokenizer, ascending.
    pub eos_token_ids: Vec<TokenId>,
    /// Type in which most weights are stored, from config.json; F32 if it names none.
    pub dtype: Dtype,
    /// Whether the embedding may have more rows than the tokenizer has pieces: if the architecture's models are of that
    /// kind, or config.json says so (the workbook's own key, `padded_vocabulary`).
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
    let architecture = architecture(&json)?;
    refuse_unsupported(&json)?;
    let llama = sizes(&json)?;
    llama.validate()?;
    refuse_windows(&json, architecture.window, &llama)?;
    let rope_scaling = rope_scaling(&json)?;
    let mut eos_token_ids = json.ids("eos_token_id", llama.vocab_size)?;
    let mut bos_token_id = json.ids("bos_token_id", llama.vocab_size)?.first().copied();
    if let Some(text) = generation_json {
        let generation = Json::parse(GENERATION_FILE, text)?;
        eos_token_ids.extend(generation.ids("eos_token_id", llama.vocab_size)?);
        let bos = generation.ids("bos_token_id", llama.vocab_size)?;
        bos_token_id = bos_token_id.or(bos.first().copied());
    }
    eos_token_ids.sort();
    eos_token_ids.dedup();
    Ok(ModelConfig {
        llama,
        architecture,
        rope_scaling,
        bos_token_id,
        eos_token_ids,
        dtype: dtype(&json)?,
        padded_vocabulary: json
            .flag("padded_vocabulary")?
            .unwrap_or(architecture.padded_vocabulary),
    })
}

const ADVICE: &str = "the workbook does not compute this; choose another model";

/// The architecture by `model_type`, or by the first of `architectures` where an old file has no type. A file with
/// neither is a Llama.
fn architecture(json: &Json) -> Result<&'static Architecture> {
    let classes = json.texts("architectures")?;
    match json.get("model_type") {
        Some(found) => (found.as_str().and_then(Architecture::of_type))
            .ok_or_else(|| json.error("model_type", MODEL_TYPES, describe(Some(found)), ADVICE)),
        None => match classes.first() {
            Some(class) => Architecture::of_class(class)
                .ok_or_else(|| json.error("architectures", MODEL_TYPES, format!("`{class}`"), ADVICE)),
            None => Ok(&LLAMA),
        },
    }
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
    let mut rope_theta = json.number("rope_theta")?;
    for key in ["rope_scaling", "rope_parameters"] {
        if let Some(parameters) = json.object(key)? {
            rope_theta = rope_theta.or(parameters.number("rope_theta")?);
        }
    }
    Ok(LlamaConfig {
        vocab_size: json.needed("vocab_size")?,
        hidden_size,
        intermediate_size: json.needed("intermediate_size")?,
        num_layers: json.needed("num_hidden_layers")?,
        num_heads,
        num_kv_heads: json.count("num_key_value_heads")?.unwrap_or(num_heads),
        head_dim,
        rope_theta: rope_theta.unwrap_or(10_000.0),
        rms_norm_eps: json.number("rms_norm_eps")?.unwrap_or(1e-6),
        max_seq_len: json.count("max_position_embeddings")?.unwrap_or(2048),
        tie_word_embeddings: json.flag("tie_word_embeddings")?.unwrap_or(false),
    })
}

/// Reads `rope_scaling`, or `rope_parameters` as newer writers call it. Its kind stands under `rope_type` or, in older
/// files, `type`. `rope_parameters` without a kind, with the base alone, mean no scaling.
fn rope_scaling(json: &Json) -> Result<RopeScaling> {
    let key = match json.get("rope_scaling") {
        Some(_) => "rope_scaling",
        None => "rope_parameters",
    };
    let Some(scaling) = json.object(key)? else {
        return Ok(RopeScaling::None);
    };
    if let Some(share) = scaling.number("partial_rotary_factor")?.filter(|share| *share != 1.0) {
        return Err(scaling.error("partial_rotary_factor", "1", share.to_string(), ADVICE));
    }
    let is_plain = |key: &str| ["rope_theta", "partial_rotary_factor"].contains(&key);
    let kind = match scaling.get("rope_type").or(scaling.get("type")) {
        Some(Value::String(kind)) => kind.as_str(),
        None if key == "rope_parameters" && scaling.keys().all(is_plain) => "default",
        found => return Err(json.bad(key, "its kind under `rope_type` or `type`", describe(found))),
    };
    let positive = |name: &str| match scaling.number(name)? {
        Some(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err(json.bad(
            name,
            &format!("a positive number in {key}"),
            describe(scaling.get(name)),
        )),
    };
    match kind {
        "default" => Ok(RopeScaling::None),
        "linear" => Ok(RopeScaling::Linear {
            factor: positive("factor")?,
        }),
        "llama3" => {
            let (low, high) = (positive("low_freq_factor")?, positive("high_freq_factor")?);
            if low >= high {
                let expected = format!("a number above low_freq_factor in {key}");
                return Err(json.bad("high_freq_factor", &expected, high.to_string()));
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

/// Refuses settings under which a model would load and then compute nonsense.
fn refuse_unsupported(json: &Json) -> Result<()> {
    if let Some(found) = json.get("hidden_act").filter(|found| **found != "silu") {
        return Err(json.error("hidden_act", "`silu`", describe(Some(found)), ADVICE));
    }
    // Biases of other products than those of Qwen2; heads that pair neighbours; positions of images.
    for key in ["attention_bias", "mlp_bias", "rope_interleaved", "use_mrope"] {
        if json.flag(key)? == Some(true) {
            return Err(json.error(key, "false", "true", ADVICE));
        }
    }
    if let Some(share) = json.number("partial_rotary_factor")?.filter(|share| *share != 1.0) {
        return Err(json.error("partial_rotary_factor", "1", share.to_string(), ADVICE));
    }
    if json.get("quantization_config").is_some() {
        let advice = "fetch the model in f32, f16 or bf16";
        return Err(json.error("quantization_config", "nothing", "quantized weights", advice));
    }
    Ok(())
}

/// Refuses a window that is shorter than the context: rows of a long text would see less than the workbook shows them,
/// and a short text would not tell the difference.
fn refuse_windows(json: &Json, window: Window, llama: &LlamaConfig) -> Result<()> {
    let layers = json.texts("layer_types")?;
    if let Some(kind) = layers.iter().find(|kind| *kind != "full_attention") {
        return Err(json.error("layer_types", "`full_attention` only", format!("`{kind}`"), ADVICE));
    }
    let set = json.count("sliding_window")?;
    let set = match window {
        Window::Never => None,
        Window::IfSet { absent } => set.or((!json.has("sliding_window")).then_some(absent)),
        Window::IfFlagged if json.flag("use_sliding_window")? == Some(true) => set,
        Window::IfFlagged => None,
    };
    match set.filter(|window| *window < llama.max_seq_len) {
        None => Ok(()),
        Some(window) => {
            let context = llama.max_seq_len;
            let expected = format!("null, or at least max_position_embeddings {context}");
            let advice = "the workbook's rows see all positions before them; choose a model without a window";
            Err(json.error("sliding_window", &expected, window.to_string(), advice))
        }
    }
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
