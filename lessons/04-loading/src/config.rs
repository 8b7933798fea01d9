//! `config.json` and `generation_config.json`: the sizes, the rotary scaling and the ids that end a text.
//!
//! What a file says and we do not know is an error wherever it would change the numbers: another architecture, biases,
//! another activation, another rotary scaling. Unknown keys that change nothing are passed over.

use crate::dtype::Dtype;
use crate::error::{LoadError, Result};
use serde_json::Value;
use training::TokenId;
use training::config::LlamaConfig;

/// How rotary positions are stretched for contexts beyond those of training.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum RopeScaling {
    /// Not at all.
    #[default]
    None,
    /// Every position is divided by `factor`.
    Linear {
        /// At least 1 in practice; any positive number is understood.
        factor: f64,
    },
    /// Llama 3.1's rule of three bands: fast frequencies stay, slow ones are divided by `factor`, those between are mixed.
    /// Source: `_compute_llama3_parameters` in transformers.
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

/// All that the JSON files of a folder say of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// The sizes. In an open folder `tie_word_embeddings` says whether the files hold no head, whatever config.json says.
    pub llama: LlamaConfig,
    /// How rotary positions are stretched.
    pub rope_scaling: RopeScaling,
    /// The id that begins a text, if the model has one.
    pub bos_token_id: Option<TokenId>,
    /// The ids that end a text: union of config.json, generation_config.json and the tokenizer, ascending.
    pub eos_token_ids: Vec<TokenId>,
    /// Type in which most weights are stored, as config.json says (F32 when it says nothing).
    pub dtype: Dtype,
    /// Whether the embedding may have more rows than the tokenizer has pieces (our own key, `padded_vocabulary`).
    pub padded_vocabulary: bool,
}

/// Name of the file with the sizes.
pub const CONFIG_FILE: &str = "config.json";
/// Name of the file with the ids and defaults of generation.
pub const GENERATION_FILE: &str = "generation_config.json";

/// Reads config.json, and generation_config.json where there is one.
///
/// # Errors
/// Broken JSON, a key that is missing or of another type, sizes that do not fit each other, or a model that this workbook
/// would compute wrongly.
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

/// The sizes, with the defaults of transformers' `LlamaConfig` for what may be left out.
fn sizes(json: &Json) -> Result<LlamaConfig> {
    let hidden_size = json.needed("hidden_size")?;
    let num_heads = json.needed("num_attention_heads")?;
    let head_dim = match json.count("head_dim")? {
        Some(head_dim) => head_dim,
        None if num_heads > 0 && hidden_size % num_heads == 0 => hidden_size / num_heads,
        None => {
            return Err(json.bad(
                "head_dim",
                "a number, as num_attention_heads does not divide hidden_size",
                "nothing".into(),
                "fetch the model again",
            ));
        }
    };
    let parameters = json.rope_parameters();
    let nested_theta = match parameters {
        Some(parameters) => parameters.number("rope_theta")?,
        None => None,
    };
    let rope_theta = match json.number("rope_theta")? {
        Some(theta) => theta,
        None => nested_theta.unwrap_or(10_000.0),
    };
    Ok(LlamaConfig {
        vocab_size: json.needed("vocab_size")?,
        hidden_size,
        intermediate_size: json.needed("intermediate_size")?,
        num_layers: json.needed("num_hidden_layers")?,
        num_heads,
        num_kv_heads: json.count("num_key_value_heads")?.unwrap_or(num_heads),
        head_dim,
        rope_theta,
        rms_norm_eps: json.number("rms_norm_eps")?.unwrap_or(1e-6),
        max_seq_len: json.count("max_position_embeddings")?.unwrap_or(2048),
        tie_word_embeddings: json.flag("tie_word_embeddings")?.unwrap_or(false),
    })
}

/// `rope_scaling`, or `rope_parameters` as newer writers call it; its kind under `rope_type` or, older, `type`.
fn rope_scaling(json: &Json) -> Result<RopeScaling> {
    let Some(scaling) = json.rope_parameters() else {
        return Ok(RopeScaling::None);
    };
    let kind = match scaling.get("rope_type").or(scaling.get("type")) {
        Some(Value::String(kind)) => kind.as_str(),
        found => {
            return Err(json.bad(
                "rope_scaling",
                "its kind under `rope_type` or `type`",
                describe(found),
                "fetch the model again",
            ));
        }
    };
    let positive = |key: &'static str| match scaling.number(key)? {
        Some(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err(json.bad(
            key,
            "a positive number in rope_scaling",
            describe(scaling.get(key)),
            "fetch the model again",
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
                return Err(json.bad(
                    "high_freq_factor",
                    "a number above low_freq_factor in rope_scaling",
                    high.to_string(),
                    "fetch the model again",
                ));
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

/// Refuses what would load and then compute nonsense.
fn refuse_other_models(json: &Json) -> Result<()> {
    const ADVICE: &str = "the workbook runs the plain Llama architecture; choose another model";
    let text = |key| match json.get(key) {
        Some(Value::String(text)) => Some(text.as_str()),
        _ => None,
    };
    if let Some(kind) = text("model_type").filter(|kind| *kind != "llama") {
        return Err(json.bad("model_type", "`llama`", format!("`{kind}`"), ADVICE));
    }
    if let Some(activation) = text("hidden_act").filter(|name| *name != "silu") {
        return Err(json.bad("hidden_act", "`silu`", format!("`{activation}`"), ADVICE));
    }
    for key in ["attention_bias", "mlp_bias"] {
        if json.flag(key)? == Some(true) {
            return Err(json.bad(key, "false", "true".into(), ADVICE));
        }
    }
    if json.get("quantization_config").is_some() {
        return Err(json.bad(
            "quantization_config",
            "nothing",
            "quantized weights".into(),
            "fetch the model in f32, f16 or bf16",
        ));
    }
    Ok(())
}

fn dtype(json: &Json) -> Result<Dtype> {
    let (key, value) = match json.get("dtype") {
        Some(value) => ("dtype", value),
        None => match json.get("torch_dtype") {
            Some(value) => ("torch_dtype", value),
            None => return Ok(Dtype::F32),
        },
    };
    match value.as_str() {
        Some("float32") => Ok(Dtype::F32),
        Some("float16") => Ok(Dtype::F16),
        Some("bfloat16") => Ok(Dtype::BF16),
        _ => Err(json.bad(
            key,
            "`float32`, `float16` or `bfloat16`",
            describe(Some(value)),
            "convert the model to one of these types",
        )),
    }
}

/// An object of a JSON file, read with errors that name file and key. A key that is `null` counts as absent.
#[derive(Clone)]
pub(crate) struct Json {
    file: &'static str,
    object: serde_json::Map<String, Value>,
}

impl Json {
    pub(crate) fn parse(file: &'static str, text: &str) -> Result<Self> {
        match serde_json::from_str(text) {
            Ok(Value::Object(object)) => Ok(Self { file, object }),
            Ok(_) => Err(not_json(file, "another kind of JSON".into())),
            Err(error) => Err(not_json(file, error.to_string())),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    fn bad(&self, key: &'static str, expected: &'static str, found: String, advice: &'static str) -> LoadError {
        LoadError::BadConfig {
            file: self.file.into(),
            key,
            expected,
            found,
            advice,
        }
    }

    fn count(&self, key: &'static str) -> Result<Option<usize>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        // Sizes above 2^32 are forgeries; below it, products of two of them fit 64 bits.
        match value.as_u64().filter(|count| *count <= u64::from(u32::MAX)) {
            Some(count) => Ok(Some(count as usize)),
            None => Err(self.bad(
                key,
                "a whole number below 2^32",
                describe(Some(value)),
                "fetch the model again",
            )),
        }
    }

    fn needed(&self, key: &'static str) -> Result<usize> {
        self.count(key)?
            .ok_or_else(|| self.bad(key, "a whole number", "nothing".into(), "fetch the model again"))
    }

    fn number(&self, key: &'static str) -> Result<Option<f64>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match value.as_f64() {
            Some(number) => Ok(Some(number)),
            None => Err(self.bad(key, "a number", describe(Some(value)), "fetch the model again")),
        }
    }

    fn flag(&self, key: &'static str) -> Result<Option<bool>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            found => Err(self.bad(key, "true or false", describe(found), "fetch the model again")),
        }
    }

    /// One id or a list of ids.
    fn ids(&self, key: &'static str) -> Result<Vec<TokenId>> {
        let id = |value: &Value| {
            (value.as_u64().and_then(|id| u32::try_from(id).ok()))
                .map(TokenId)
                .ok_or_else(|| {
                    self.bad(
                        key,
                        "an id or a list of ids",
                        describe(Some(value)),
                        "fetch the model again",
                    )
                })
        };
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(values)) => values.iter().map(id).collect(),
            Some(value) => Ok(vec![id(value)?]),
        }
    }

    fn rope_parameters(&self) -> Option<Self> {
        match self.get("rope_scaling").or(self.get("rope_parameters")) {
            Some(Value::Object(object)) => Some(Self {
                file: self.file,
                object: object.clone(),
            }),
            // Anything else than an object has no kind, which is an error where the kind is read.
            Some(_) => Some(Self {
                file: self.file,
                object: serde_json::Map::new(),
            }),
            None => None,
        }
    }
}

fn not_json(file: &'static str, found: String) -> LoadError {
    LoadError::BadConfig {
        file: file.into(),
        key: "the file",
        expected: "a JSON object",
        found,
        advice: "fetch the model again",
    }
}

/// A value as it stands in the file, cut short.
fn describe(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".into();
    };
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}
