//! The key-value part of a GGUF file: sizes of the model, its vocabulary, its chat template.
//!
//! ```text
//! key: string | type: u32 | value             string = length: u64 + UTF-8
//!                           array = type: u32 + count: u64 + values
//! ```
//! Arrays are left in the file (a vocabulary has 50 000 strings) and walked once to know where they end.

use super::bad;
use super::cursor::Cursor;
use crate::error::{LoadError, Result};
use std::collections::BTreeMap;

/// A value of the metadata. Integers of all widths are one kind, and so are the floats.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Any of the integer types.
    Int(i128),
    /// `f32`, widened by its shortest decimal form, so that a stored 1e-5 is 1e-5 again; or `f64`.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// Text.
    Text(String),
    /// An array: where its first element lies in the file.
    Array {
        /// Type of the elements.
        kind: u32,
        /// Number of elements.
        count: usize,
        /// Byte at which they begin.
        begin: usize,
    },
}

/// All keys with their values.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    values: BTreeMap<String, Value>,
}

const STRING: u32 = 8;
const ARRAY: u32 = 9;
/// Arrays of arrays are allowed by the format and used by nobody; a forged file must not recurse without end.
const MAX_DEPTH: usize = 4;

/// Bytes of a value of a fixed size; `None` for strings, arrays and unknown types.
fn fixed_bytes(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

impl Metadata {
    /// Reads `count` pairs.
    ///
    /// # Errors
    /// A file that ends early, an unknown type, a key twice.
    pub fn read(cursor: &mut Cursor<'_>, count: usize) -> Result<Self> {
        let mut metadata = Self::default();
        for _ in 0..count {
            let key = cursor.str()?.to_string();
            let kind = cursor.u32()?;
            let value = read_value(cursor, &key, kind)?;
            if metadata.values.insert(key.clone(), value).is_some() {
                return Err(LoadError::DuplicateName {
                    file: cursor.file().into(),
                    name: key,
                });
            }
        }
        Ok(metadata)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// A text.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A whole number below 2^32 (sizes and ids are; the bound keeps their products within 64 bits).
    pub fn count(&self, key: &str) -> Option<usize> {
        match self.get(key) {
            Some(Value::Int(int)) => u32::try_from(*int).ok().map(|int| int as usize),
            _ => None,
        }
    }

    /// A number.
    pub fn number(&self, key: &str) -> Option<f64> {
        match self.get(key) {
            Some(Value::Float(float)) => Some(*float),
            Some(Value::Int(int)) => Some(*int as f64),
            _ => None,
        }
    }

    /// A flag.
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.get(key) {
            Some(Value::Bool(flag)) => Some(*flag),
            _ => None,
        }
    }

    /// The strings of an array, not copied. `bytes` is the file. `None` when there is no such array.
    ///
    /// # Errors
    /// A string that is no UTF-8.
    pub fn strings<'a>(&self, file: &'a str, bytes: &'a [u8], key: &str) -> Result<Option<Vec<&'a str>>> {
        let Some(&Value::Array {
            kind: STRING,
            count,
            begin,
        }) = self.get(key)
        else {
            return Ok(None);
        };
        let mut cursor = Cursor::at(file, bytes, begin);
        (0..count).map(|_| cursor.str()).collect::<Result<_>>().map(Some)
    }

    /// The numbers of an array. `None` when there is no such array.
    ///
    /// # Errors
    /// An array that ends early.
    pub fn numbers(&self, file: &str, bytes: &[u8], key: &str) -> Result<Option<Vec<f64>>> {
        let Some(&Value::Array { kind, count, begin }) = self.get(key) else {
            return Ok(None);
        };
        if fixed_bytes(kind).is_none() {
            return Ok(None);
        }
        let mut cursor = Cursor::at(file, bytes, begin);
        let number = |_| {
            Ok(match read_value(&mut cursor, key, kind)? {
                Value::Int(int) => int as f64,
                Value::Float(float) => float,
                Value::Bool(flag) => f64::from(u8::from(flag)),
                Value::Text(_) | Value::Array { .. } => f64::NAN,
            })
        };
        (0..count).map(number).collect::<Result<_>>().map(Some)
    }
}

fn read_value(cursor: &mut Cursor<'_>, key: &str, kind: u32) -> Result<Value> {
    Ok(match kind {
        0 => Value::Int(cursor.u8()?.into()),
        1 => Value::Int((cursor.u8()? as i8).into()),
        2 => Value::Int(cursor.u16()?.into()),
        3 => Value::Int((cursor.u16()? as i16).into()),
        4 => Value::Int(cursor.u32()?.into()),
        5 => Value::Int((cursor.u32()? as i32).into()),
        6 => Value::Float(shortest(f32::from_bits(cursor.u32()?))),
        7 => match cursor.u8()? {
            0 => Value::Bool(false),
            1 => Value::Bool(true),
            other => return Err(bad(cursor.file(), key, "a flag of 0 or 1", other)),
        },
        STRING => Value::Text(cursor.str()?.to_string()),
        ARRAY => {
            let kind = cursor.u32()?;
            let claimed = cursor.u64()?;
            let count = cursor.check_count(key, claimed, fixed_bytes(kind).unwrap_or(8))?;
            let begin = cursor.position();
            skip_elements(cursor, key, kind, count, 1)?;
            Value::Array { kind, count, begin }
        }
        10 => Value::Int(cursor.u64()?.into()),
        11 => Value::Int((cursor.u64()? as i64).into()),
        12 => Value::Float(f64::from_bits(cursor.u64()?)),
        other => return Err(bad(cursor.file(), key, "a value type from 0 to 12", other)),
    })
}

/// Walks over the elements of an array, to know where it ends and that all of it is there.
fn skip_elements(cursor: &mut Cursor<'_>, key: &str, kind: u32, count: usize, depth: usize) -> Result<()> {
    if let Some(size) = fixed_bytes(kind) {
        cursor.take(size * count as u64)?;
        return Ok(());
    }
    for _ in 0..count {
        match kind {
            STRING => drop(cursor.str()?),
            ARRAY if depth < MAX_DEPTH => {
                let kind = cursor.u32()?;
                let claimed = cursor.u64()?;
                let count = cursor.check_count(key, claimed, fixed_bytes(kind).unwrap_or(8))?;
                skip_elements(cursor, key, kind, count, depth + 1)?;
            }
            ARRAY => {
                return Err(bad(cursor.file(), key, "arrays at most 4 deep", "a deeper one"));
            }
            other => {
                return Err(bad(cursor.file(), key, "an element type from 0 to 12", other));
            }
        }
    }
    Ok(())
}

/// The f64 that is written as the shortest decimal which names this f32: 1e-5, not 9.99999974e-6.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}
