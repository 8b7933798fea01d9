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

    pub(crate) fn bad(&self, key: &'static str, expected: &'static str, found: impl Into<String>) -> LoadError {
        self.error(key, expected, found, "fetch the model again")
    }

    pub(crate) fn error(
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
    pub(crate) fn count(&self, key: &'static str) -> Result<Option<usize>> {
        let count = |value: &Value| value.as_u64().filter(|count| *count <= u64::from(u32::MAX));
        self.optional(key, "a whole number below 2^32", |value| Some(count(value)? as usize))
    }

    pub(crate) fn needed(&self, key: &'static str) -> Result<usize> {
        (self.count(key)?).ok_or_else(|| self.bad(key, "a whole number", "nothing"))
    }

    pub(crate) fn number(&self, key: &'static str) -> Result<Option<f64>> {
        self.optional(key, "a number", Value::as_f64)
    }

    pub(crate) fn flag(&self, key: &'static str) -> Result<Option<bool>> {
        self.optional(key, "true or false", Value::as_bool)
    }

    /// One id or a list of ids.
    pub(crate) fn ids(&self, key: &'static str) -> Result<Vec<TokenId>> {
        let id = |value: &Value| Some(TokenId(u32::try_from(value.as_u64()?).ok()?));
        let ids = self.optional(key, "an id or a list of ids", |value| match value {
            Value::Array(values) => values.iter().map(id).collect(),
            value => Some(vec![id(value)?]),
        })?;
        Ok(ids.unwrap_or_default())
    }

    pub(crate) fn rope_parameters(&self) -> Option<Self> {
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
