//! Objects of JSON files, read with errors that name file and key.

use crate::error::{LoadError, Result};
use serde_json::Value;
use training::TokenId;

/// An object of a JSON file. Its errors name file and key. A key with the value `null` counts as absent.
#[derive(Clone)]
pub(crate) struct Json {
    pub(crate) file: &'static str,
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

    /// Whether the key is there, also with the value `null`.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.object.contains_key(key)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.object.keys().map(String::as_str)
    }

    pub(crate) fn bad(&self, key: &str, expected: &str, found: impl Into<String>) -> LoadError {
        self.error(key, expected, found, "fetch the model again")
    }

    pub(crate) fn error(&self, key: &str, expected: &str, found: impl Into<String>, advice: &'static str) -> LoadError {
        LoadError::BadConfig {
            file: self.file.into(),
            key: key.into(),
            expected: expected.into(),
            found: found.into(),
            advice,
        }
    }

    /// The value of a key, read by `read`; `None` if the key is absent.
    pub(crate) fn optional<T>(
        &self,
        key: &str,
        expected: &str,
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
    pub(crate) fn count(&self, key: &str) -> Result<Option<usize>> {
        let count = |value: &Value| value.as_u64().filter(|count| *count <= u64::from(u32::MAX));
        self.optional(key, "a whole number below 2^32", |value| Some(count(value)? as usize))
    }

    pub(crate) fn needed(&self, key: &str) -> Result<usize> {
        (self.count(key)?).ok_or_else(|| self.bad(key, "a whole number", "nothing"))
    }

    pub(crate) fn number(&self, key: &str) -> Result<Option<f64>> {
        self.optional(key, "a number", Value::as_f64)
    }

    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>> {
        self.optional(key, "true or false", Value::as_bool)
    }

    /// One text or a list of texts.
    pub(crate) fn texts(&self, key: &str) -> Result<Vec<String>> {
        let text = |value: &Value| Some(value.as_str()?.to_owned());
        let texts = self.optional(key, "a text or a list of texts", |value| match value {
            Value::Array(values) => values.iter().map(text).collect(),
            value => Some(vec![text(value)?]),
        })?;
        Ok(texts.unwrap_or_default())
    }

    /// One id or a list of ids, each of them in the vocabulary.
    pub(crate) fn ids(&self, key: &str, vocab_size: usize) -> Result<Vec<TokenId>> {
        let id = |value: &Value| Some(TokenId(u32::try_from(value.as_u64()?).ok()?));
        let ids = self.optional(key, "an id or a list of ids", |value| match value {
            Value::Array(values) => values.iter().map(id).collect(),
            value => Some(vec![id(value)?]),
        })?;
        let ids = ids.unwrap_or_default();
        match ids.iter().find(|id| id.index() >= vocab_size) {
            Some(id) => Err(self.bad(key, &in_vocabulary(vocab_size), id.0.to_string())),
            None => Ok(ids),
        }
    }

    /// The object of a key.
    pub(crate) fn object(&self, key: &str) -> Result<Option<Self>> {
        let object = self.optional(key, "an object", |value| value.as_object().cloned())?;
        Ok(object.map(|object| Self {
            file: self.file,
            object,
        }))
    }
}

/// The expectation of an id, for messages.
pub(crate) fn in_vocabulary(vocab_size: usize) -> String {
    format!("an id below the vocabulary's size {vocab_size}")
}

/// A value as it is in the file, cut short.
pub(crate) fn describe(value: Option<&Value>) -> String {
    let text = value.map_or("nothing".into(), Value::to_string);
    match text.char_indices().nth(60) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}
