//! A whole model: config, weights, tokenizer and chat template, checked against each other.

use crate::architecture::LLAMA;
use crate::bytes::{Access, FileBytes, read_text};
use crate::checkpoint::Checkpoint;
use crate::config::{self, CONFIG_FILE, GENERATION_FILE, ModelConfig, RopeScaling};
use crate::dtype::Dtype;
use crate::error::{LoadError, Result};
use crate::gguf::{self, Gguf};
use crate::json::Json;
use crate::random::{self, RandomWeights};
use crate::source::WeightSource;
use crate::tokenizer::{TOKENIZER_FILE, Tokenizer};
use serde_json::Value;
use std::path::{Path, PathBuf};
use training::TokenId;

/// An open model whose parts agree with each other.
pub struct ModelFolder {
    /// Sizes, rotary scaling, ids of special tokens.
    pub config: ModelConfig,
    /// The weights; shapes are those of the config.
    pub weights: Box<dyn WeightSource + Send + Sync>,
    /// Text to ids and back; `None` for random models.
    pub tokenizer: Option<Tokenizer>,
    /// Jinja template that turns a conversation into text.
    pub chat_template: Option<String>,
    /// Text of the token that begins a text, for the template.
    pub bos_token: Option<String>,
    /// Text of the token that ends a text, for the template.
    pub eos_token: Option<String>,
    /// Name in tables: `stories`, `random:135m`, or the name of the folder or file.
    pub name: String,
}

/// Name of the file with the chat template and the texts of special tokens.
pub const TOKENIZER_CONFIG_FILE: &str = "tokenizer_config.json";

/// Opens `stories` (the trained model in `data/stories`), `random:15m|135m|1.1b`, a Hugging Face folder or a GGUF file.
///
/// Weights are mapped: only the headers are read.
///
/// # Errors
/// All kinds of [`LoadError`].
pub fn open(model: &str) -> Result<ModelFolder> {
    open_with(model, Access::Mapped)
}

/// As [`open`], with a choice between mapped and eager reading of the weights.
///
/// # Errors
/// As [`open`].
pub fn open_with(model: &str, access: Access) -> Result<ModelFolder> {
    if let Some(shape) = model.strip_prefix("random:") {
        return open_random(model, shape);
    }
    let path = resolve(model);
    if path.is_dir() {
        return open_folder(model, &path, access);
    }
    if path.is_file() && path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gguf")) {
        return open_gguf(&path, access);
    }
    Err(LoadError::UnknownModel { model: model.into() })
}

/// The path of a model: `stories` and the smaller `stories-draft` are in `data`; every other name is a path.
pub fn resolve(model: &str) -> PathBuf {
    match model {
        "stories" | "stories-draft" => lab::paths::data_dir().join(model),
        path => PathBuf::from(path),
    }
}

fn open_random(model: &str, shape: &str) -> Result<ModelFolder> {
    let Some(llama) = random::shape(shape) else {
        return Err(LoadError::UnknownModel { model: model.into() });
    };
    Ok(ModelFolder {
        weights: Box::new(RandomWeights::new(llama.clone(), 0)),
        config: ModelConfig {
            architecture: &LLAMA,
            llama,
            rope_scaling: RopeScaling::None,
            bos_token_id: None,
            eos_token_ids: Vec::new(),
            dtype: Dtype::BF16,
            padded_vocabulary: false,
        },
        tokenizer: None,
        chat_template: None,
        bos_token: None,
        eos_token: None,
        name: model.into(),
    })
}

fn open_folder(model: &str, path: &Path, access: Access) -> Result<ModelFolder> {
    let (mut config, weights) = open_weights(path, access)?;
    let tokenizer = Tokenizer::from_file(&path.join(TOKENIZER_FILE))?;
    tokenizer.check(&config)?;
    let texts = read_texts(path)?;
    let eos = (texts.eos_token.as_deref()).and_then(|text| tokenizer.id_of(text));
    add_eos(&mut config.eos_token_ids, eos);
    let name = match path.file_name() {
        Some(name) if model != "stories" => name.to_string_lossy().into_owned(),
        _ => model.to_string(),
    };
    Ok(ModelFolder {
        config,
        weights: Box::new(weights),
        tokenizer: Some(tokenizer),
        chat_template: texts.chat_template,
        bos_token: texts.bos_token,
        eos_token: texts.eos_token,
        name,
    })
}

fn open_gguf(path: &Path, access: Access) -> Result<ModelFolder> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut gguf = Gguf::from_bytes(&name, FileBytes::open(path, access)?)?;
    let config = gguf::config::model_config(&gguf)?;
    gguf.check(&config)?;
    let tokenizer = match gguf::vocabulary::tokenizer_json(&gguf)? {
        Some(json) => {
            let tokenizer = Tokenizer::from_json(json.to_string().as_bytes())?;
            tokenizer.check(&config)?;
            Some(tokenizer)
        }
        None => None,
    };
    let text = |id: Option<TokenId>| tokenizer.as_ref()?.piece(id?);
    let metadata = gguf.metadata();
    let eos = metadata.count("tokenizer.ggml.eos_token_id")?;
    Ok(ModelFolder {
        chat_template: metadata.text("tokenizer.chat_template")?.map(String::from),
        bos_token: text(config.bos_token_id),
        eos_token: text(eos.map(|id| TokenId(id as u32))),
        weights: Box::new(gguf),
        tokenizer,
        config,
        name: name.into_owned(),
    })
}

/// Opens config and weights of a folder, without tokenizer, and checks them against each other.
///
/// # Errors
/// As [`open`].
pub fn open_weights(folder: &Path, access: Access) -> Result<(ModelConfig, Checkpoint)> {
    let mut config = read_config(folder)?;
    let mut weights = Checkpoint::open(folder, access)?;
    // The file decides, not the flag, as in transformers 5.
    config.llama.tie_word_embeddings = !weights.has_head();
    weights.check(&config)?;
    Ok((config, weights))
}

/// Reads the two JSON files of a folder.
///
/// # Errors
/// As [`config::parse`], or no such file.
pub fn read_config(folder: &Path) -> Result<ModelConfig> {
    const ADVICE: &str = "check the path: a model folder holds config.json, safetensors and tokenizer.json";
    let config_json = read_text(&folder.join(CONFIG_FILE), ADVICE)?;
    let generation = folder.join(GENERATION_FILE);
    let generation_json = match generation.exists() {
        true => Some(read_text(&generation, ADVICE)?),
        false => None,
    };
    config::parse(&config_json, generation_json.as_deref())
}

/// Adds an id to a sorted list without duplicates.
pub(crate) fn add_eos(ids: &mut Vec<TokenId>, id: Option<TokenId>) {
    ids.extend(id);
    ids.sort();
    ids.dedup();
}

#[derive(Default)]
struct Texts {
    chat_template: Option<String>,
    bos_token: Option<String>,
    eos_token: Option<String>,
}

/// Reads tokenizer_config.json and chat_template.jinja, if they exist.
fn read_texts(folder: &Path) -> Result<Texts> {
    const ADVICE: &str = "check the rights, or fetch the model again";
    let mut texts = Texts::default();
    let path = folder.join(TOKENIZER_CONFIG_FILE);
    if path.exists() {
        let json = Json::parse(TOKENIZER_CONFIG_FILE, &read_text(&path, ADVICE)?)?;
        let token = |key| json.optional(key, "a text or an object with the text as its content", token_text);
        texts.bos_token = token("bos_token")?;
        texts.eos_token = token("eos_token")?;
        let expected = "a text or a list of objects with name and template";
        texts.chat_template = json.optional("chat_template", expected, template_text)?.flatten();
    }
    let path = folder.join("chat_template.jinja");
    if path.exists() {
        texts.chat_template = Some(read_text(&path, ADVICE)?);
    }
    Ok(texts)
}

/// The text of a token, which is a string or an object with the text under `content`.
fn token_text(value: &Value) -> Option<String> {
    let text = value.as_str().or_else(|| value.get("content")?.as_str())?;
    Some(text.to_string())
}

/// The text of a template, which is a string or the entry `default` in a list of named templates. A list without that
/// entry has no template that is meant by default.
fn template_text(value: &Value) -> Option<Option<String>> {
    match value {
        Value::String(text) => Some(Some(text.clone())),
        Value::Array(named) => {
            let pair = |entry: &Value| {
                Some((
                    entry["name"].as_str()?.to_owned(),
                    entry["template"].as_str()?.to_owned(),
                ))
            };
            let pairs: Vec<_> = named.iter().map(pair).collect::<Option<_>>()?;
            Some(
                pairs
                    .into_iter()
                    .find(|(name, _)| name == "default")
                    .map(|(_, template)| template),
            )
        }
        _ => None,
    }
}
