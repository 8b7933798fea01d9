//! `config.json` and `generation_config.json`: the sizes, the rotary scaling and the ids that end a text.
//!
//! A setting that changes the numbers and is not supported is an error: another architecture, biases, another
//! activation, another rotary scaling. Unknown keys that change nothing are ignored.

use crate::dtype::Dtype;
use crate::error::{LoadError, Result};
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

/// An object of a JSON file. Its errors name file and key. A key with the value `null` counts as absent.
#[derive(Clone)]
pub(crate) struct Json {
    file: &'static str,
    object: serde_json::Map<String, Value>,
}

impl Json {
    pub(crate) fn parse(file: &'static str, text: &str) -> Result<Self> {
        let (object, found) = match serde_json::from_str(text) {
            Ok(Value::Object(object)) => (object, None),
            Ok(_) => (serde_json::Map::new(), Some("another kind of JSON".to_string())),
            Err(error) => (serde_json::Map::new(), Some(error.to_string())),
        };
        let json = Self { file, object };
        match found {
            None => Ok(json),
            Some(found) => Err(json.bad("the file", "a JSON object", found)),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    fn bad(&self, key: &'static str, expected: &'static str, found: impl Into<String>) -> LoadError {
        self.error(key, expected, found, "fetch the model again")
    }

    fn error(
        &self,
        key: &'static str,
        expected: &'static str,
        found: impl Into<String>,
        advice: &'static str,
    ) -> LoadError {
        LoadError::BadConfig {
            file: self.file.into(),
            key,
            expected,
            found: found.into(),
            advice,
        }
    }

    /// The value of a key, read by `read`; `None` if the key is absent.
    fn optional<T>(
        &self,
        key: &'static str,
        expected: &'static str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(self.bad(key, expected, describe(Some(value)))),
        }
    }

    /// A size. Sizes above 2^32 are forged; below it, products of two of them fit 64 bits.
    fn count(&self, key: &'static str) -> Result<Option<usize>> {
        let count = |value: &Value| value.as_u64().filter(|count| *count <= u64::from(u32::MAX));
        self.optional(key, "a whole number below 2^32", |value| Some(count(value)? as usize))
    }

    fn needed(&self, key: &'static str) -> Result<usize> {
        (self.count(key)?).ok_or_else(|| self.bad(key, "a whole number", "nothing"))
    }

    fn number(&self, key: &'static str) -> Result<Option<f64>> {
        self.optional(key, "a number", Value::as_f64)
    }

    fn flag(&self, key: &'static str) -> Result<Option<bool>> {
        self.optional(key, "true or false", Value::as_bool)
    }

    /// One id or a list of ids.
    fn ids(&self, key: &'static str) -> Result<Vec<TokenId>> {
        let id = |value: &Value| Some(TokenId(u32::try_from(value.as_u64()?).ok()?));
        let ids = self.optional(key, "an id or a list of ids", |value| match value {
            Value::Array(values) => values.iter().map(id).collect(),
            value => Some(vec![id(value)?]),
        })?;
        Ok(ids.unwrap_or_default())
    }

    fn rope_parameters(&self) -> Option<Self> {
        let value = self.get("rope_scaling").or(self.get("rope_parameters"))?;
        Some(Self {
            file: self.file,
            // A value that is not an object has no kind, which is an error where the kind is read.
            object: value.as_object().cloned().unwrap_or_default(),
        })
    }
}

/// A value as it is in the file, cut short.
pub(crate) fn describe(value: Option<&Value>) -> String {
    let text = value.map_or("nothing".into(), Value::to_string);
    match text.char_indices().nth(60) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}
