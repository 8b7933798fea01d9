//! The one door to the `tokenizers` library.
//!
//! A tokenizer.json comes from outside. The library has asserts and `unwrap`s on its content, and settings in it change
//! what a text becomes. So the file is checked first, two settings are cleared, and every call that depends on the file
//! runs under [`lab::guard`]: a panic inside is an error here.
//!
//! | before the library reads the file | why |
//! |---|---|
//! | `truncation` and `padding` are cleared | they shorten or lengthen every text in silence; `transformers` clears them at each call too |
//! | an id has one piece | the library keeps one of two at random |
//! | a merge gives a piece that is not longer than the longest | a buffer of that length |
//! | the table of a `Precompiled` normalizer is inside its bytes | the library reserves what the table claims |
//!
//! | after it | why |
//! |---|---|
//! | an added token has the id that the file says | the library counts on from its own last id |
//! | a trial text gives ids of pieces | a template may name tokens that do not exist, or ids beyond the vocabulary |

use lab::foreign::Foreign;
use lab::guard::guarded;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use tokenizers::AddedToken;

/// Why the library was not let in, or what it said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct Refused {
    /// What a file or text must be.
    pub expected: &'static str,
    /// What it is instead.
    pub found: Foreign,
}

fn refused<T>(expected: &'static str, found: impl Into<Foreign>) -> Result<T, Refused> {
    let found = found.into();
    Err(Refused { expected, found })
}

/// Runs a call of the library; its errors and its panics are refusals.
fn call<T, E: ToString>(expected: &'static str, work: impl FnOnce() -> Result<T, E>) -> Result<T, Refused> {
    match guarded(work) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => refused(expected, error.to_string()),
        Err(panic) => refused(
            expected,
            format!("something at which the `tokenizers` library stops: {panic}"),
        ),
    }
}

const READABLE: &str = "a file of the `tokenizers` library";

/// A tokenizer of the library that has passed the checks.
#[derive(Clone, Debug)]
pub struct Library {
    inner: tokenizers::Tokenizer,
}

impl Library {
    /// Reads the content of a tokenizer.json.
    ///
    /// # Errors
    /// One of the checks of this module, or what the library says.
    pub fn open(json: &[u8]) -> Result<Self, Refused> {
        let mut file: Value = call(READABLE, || serde_json::from_slice(json))?;
        let Some(object) = file.as_object_mut() else {
            return refused(READABLE, "another kind of JSON than an object");
        };
        object.insert("truncation".into(), Value::Null);
        object.insert("padding".into(), Value::Null);
        check_ids(&file)?;
        check_merges(&file["model"])?;
        check_tables(&file["normalizer"])?;
        let added = added_ids(&file);
        let inner = call(READABLE, || serde_json::from_value(file))?;
        let library = Self { inner };
        for (text, id) in added {
            if library.id_of(&text) != Some(id) {
                let found = library.id_of(&text).map_or("none".into(), |id| id.to_string());
                return refused(
                    "added tokens with the ids that the vocabulary gives them",
                    format!("`{}` with id {id} instead of {found}", Foreign(text)),
                );
            }
        }
        for id in library.encode("a", true)? {
            if library.piece(id).is_none() {
                return refused("a template with ids of the vocabulary", format!("id {id}"));
            }
        }
        Ok(library)
    }

    /// Ids of a text. With `add_special`, also the tokens that the file puts around a text.
    ///
    /// # Errors
    /// The file's rules can not spell the text.
    pub fn encode(&self, text: &str, add_special: bool) -> Result<Vec<u32>, Refused> {
        let encoding = call("rules that can spell any text", || {
            self.inner.encode_fast(text, add_special)
        })?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The text of some ids, by the file's own decoder.
    ///
    /// # Errors
    /// The decoder refuses these ids.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, Refused> {
        call("a decoder for every id", || self.inner.decode(ids, skip_special))
    }

    /// The content of a tokenizer.json, with line ends if `pretty`.
    ///
    /// # Errors
    /// Rules that the library can not write.
    pub fn to_json(&self, pretty: bool) -> Result<String, Refused> {
        call("rules that can be written", || self.inner.to_string(pretty))
    }

    /// The decoder as it stands in the file.
    ///
    /// # Errors
    /// A decoder that the library can not write.
    pub fn decoder(&self) -> Result<Value, Refused> {
        call("a decoder", || serde_json::to_value(self.inner.get_decoder()))
    }

    /// All pieces with their ids, added tokens included.
    pub fn vocabulary(&self) -> HashMap<String, u32> {
        self.inner.get_vocab(true)
    }

    /// Number of pieces, added tokens included.
    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }

    /// Tokens that are matched before all other rules, by id.
    pub fn added(&self) -> HashMap<u32, AddedToken> {
        self.inner.get_added_tokens_decoder().into_iter().collect()
    }

    /// The id of a piece.
    pub fn id_of(&self, piece: &str) -> Option<u32> {
        self.inner.token_to_id(piece)
    }

    /// The piece of an id.
    pub fn piece(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }
}

/// Text and id of each entry of `added_tokens`.
fn added_ids(file: &Value) -> Vec<(String, u32)> {
    let tokens = file["added_tokens"].as_array().into_iter().flatten();
    let entry = |token: &Value| {
        let id = u32::try_from(token["id"].as_u64()?).ok()?;
        Some((token["content"].as_str()?.to_owned(), id))
    };
    tokens.filter_map(entry).collect()
}

/// Checks that no id has two pieces.
fn check_ids(file: &Value) -> Result<(), Refused> {
    let mut pieces = BTreeMap::new();
    let vocabulary = file["model"]["vocab"].as_object().into_iter().flatten();
    let vocabulary = vocabulary.filter_map(|(text, id)| Some((id.as_u64()?, text.as_str())));
    let added = added_ids(file);
    let added = added.iter().map(|(text, id)| (u64::from(*id), text.as_str()));
    for (id, text) in vocabulary.chain(added) {
        let before = *pieces.entry(id).or_insert(text);
        if before != text {
            return refused(
                "an id for one piece only",
                format!("id {id} for `{}` and `{}`", Foreign::from(before), Foreign::from(text)),
            );
        }
    }
    Ok(())
}

/// Checks what the library's list of merges takes for granted.
fn check_merges(model: &Value) -> Result<(), Refused> {
    const EXPECTED: &str = "merges of two pieces into one of the vocabulary";
    let prefix = model["continuing_subword_prefix"].as_str().unwrap_or_default();
    let longest = model["vocab"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(piece, _)| piece.len());
    let longest = longest.max().unwrap_or(0);
    for merge in model["merges"].as_array().into_iter().flatten() {
        let pair = match merge {
            Value::String(text) => text.split_once(' '),
            merge => merge[0].as_str().zip(merge[1].as_str()),
        };
        // A merge of another form gets the library's own error.
        let Some((left, right)) = pair else { continue };
        let Some(rest) = right.strip_prefix(prefix) else {
            return refused(
                EXPECTED,
                format!(
                    "`{}` without the prefix `{}`",
                    Foreign::from(right),
                    Foreign::from(prefix)
                ),
            );
        };
        if left.len() + rest.len() > longest {
            return refused(
                EXPECTED,
                format!(
                    "`{}` and `{}`, together longer than every piece",
                    Foreign::from(left),
                    Foreign::from(right)
                ),
            );
        }
    }
    Ok(())
}

/// Checks that the table of each `Precompiled` normalizer is as long as it says, at any depth.
fn check_tables(rule: &Value) -> Result<(), Refused> {
    match rule {
        Value::Array(rules) => rules.iter().try_for_each(check_tables),
        Value::Object(fields) => {
            if let Some(table) = fields.get("precompiled_charsmap").and_then(Value::as_str) {
                check_table(table)?;
            }
            fields.values().try_for_each(check_tables)
        }
        _ => Ok(()),
    }
}

/// `length: u32, length bytes of table, texts`, in base64.
fn check_table(base64: &str) -> Result<(), Refused> {
    const EXPECTED: &str = "a `Precompiled` table inside its bytes";
    let bytes = base64::decode(base64);
    let bytes = bytes.or_else(|error| refused("a `Precompiled` table in base64", error.to_string()))?;
    match bytes.split_first_chunk::<4>() {
        Some((length, rest)) if (4..=rest.len() as u64).contains(&u64::from(u32::from_le_bytes(*length))) => Ok(()),
        Some((length, rest)) => refused(
            EXPECTED,
            format!("a length of {} and {} bytes", u32::from_le_bytes(*length), rest.len()),
        ),
        None => refused(EXPECTED, format!("{} bytes", bytes.len())),
    }
}
