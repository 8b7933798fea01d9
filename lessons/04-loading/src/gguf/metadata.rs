//! The key-value part of a GGUF file: sizes of the model, its vocabulary, its chat template.
//!
//! ```text
//! key: string | type: u32 | value             string = length: u64 + UTF-8
//!                           array = type: u32 + count: u64 + values
//! ```
//! Arrays stay in the file (a vocabulary has 50 000 strings). The reader walks over them once to find their ends.

use super::cursor::Cursor;
use crate::error::Result;
use crate::header::Refuse;
use crate::json::describe;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// A value of the metadata. Integers of all widths are one kind, and so are floats.
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
    /// An array, whose elements stay in the file.
    Array {
        /// Type of the elements.
        kind: u32,
        /// Number of elements.
        count: usize,
        /// Byte of the file at which the elements begin.
        begin: usize,
    },
}

/// All keys with their values. A key that is read as another type than it has is an error, not an absent key: a file
/// whose writer meant something must not load as if it had said nothing.
#[derive(Clone, Debug)]
pub struct Metadata {
    file: String,
    values: BTreeMap<String, Value>,
}

const STRING: u32 = 8;
const ARRAY: u32 = 9;
/// Maximum depth of arrays in arrays. The format allows any depth and no writer uses one; a forged file must not
/// overflow the stack.
const MAX_DEPTH: usize = 4;

/// Size in bytes of a value of this type; `None` for strings, arrays and unknown types.
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
    /// A file that ends early, an unknown type, or a key that occurs twice.
    pub fn read(cursor: &mut Cursor<'_>, count: usize) -> Result<Self> {
        let mut metadata = Self {
            file: cursor.refuse().file.into(),
            values: BTreeMap::new(),
        };
        for _ in 0..count {
            let key = cursor.str()?.to_string();
            let kind = cursor.u32()?;
            let value = read_value(cursor, &key, kind)?;
            if metadata.values.insert(key.clone(), value).is_some() {
                return Err(cursor.refuse().duplicate(&key));
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

    /// The value of a key, read by `read`; `None` if the key is absent.
    fn optional<'a, T>(
        &'a self,
        key: &str,
        expected: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(Refuse { file: &self.file }.bad(key, expected, value)),
        }
    }

    /// A text.
    ///
    /// # Errors
    /// A value of another type.
    pub fn text(&self, key: &str) -> Result<Option<&str>> {
        self.optional(key, "a text", |value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// A whole number below 2^32, such as a size or an id. The bound keeps products of two of them within 64 bits.
    ///
    /// # Errors
    /// A value of another type, or outside the bounds.
    pub fn count(&self, key: &str) -> Result<Option<usize>> {
        self.optional(key, "a whole number below 2^32", |value| match value {
            Value::Int(int) => u32::try_from(*int).ok().map(|int| int as usize),
            _ => None,
        })
    }

    /// A number.
    ///
    /// # Errors
    /// A value of another type.
    pub fn number(&self, key: &str) -> Result<Option<f64>> {
        self.optional(key, "a number", |value| match value {
            Value::Float(float) => Some(*float),
            Value::Int(int) => Some(*int as f64),
            _ => None,
        })
    }

    /// A flag.
    ///
    /// # Errors
    /// A value of another type.
    pub fn flag(&self, key: &str) -> Result<Option<bool>> {
        self.optional(key, "true or false", |value| match value {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        })
    }

    /// The strings of an array, not copied. `bytes` is the file. `None` if the key is absent.
    ///
    /// # Errors
    /// A value of another type, or a string that is not UTF-8.
    pub fn strings<'a>(&self, file: &'a str, bytes: &'a [u8], key: &str) -> Result<Option<Vec<&'a str>>> {
        let array = self.optional(key, "a list of texts", |value| match *value {
            Value::Array {
                kind: STRING,
                count,
                begin,
            } => Some((count, begin)),
            _ => None,
        })?;
        let Some((count, begin)) = array else {
            return Ok(None);
        };
        let mut cursor = Cursor::at(file, bytes, begin);
        (0..count).map(|_| cursor.str()).collect::<Result<_>>().map(Some)
    }

    /// The numbers of an array. `None` if the key is absent.
    ///
    /// # Errors
    /// A value of another type.
    pub fn numbers(&self, file: &str, bytes: &[u8], key: &str) -> Result<Option<Vec<f64>>> {
        let array = self.optional(key, "a list of numbers", |value| match *value {
            Value::Array { kind, count, begin } if fixed_bytes(kind).is_some() => Some((kind, count, begin)),
            _ => None,
        })?;
        let Some((kind, count, begin)) = array else {
            return Ok(None);
        };
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

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(int) => write!(f, "{int}"),
            // With a point, also where it is whole: the type is what was wrong.
            Self::Float(float) => write!(f, "{float:?}"),
            Self::Bool(flag) => write!(f, "{flag}"),
            Self::Text(text) => f.write_str(&describe(Some(&serde_json::Value::from(text.as_str())))),
            Self::Array { kind, count, .. } => write!(f, "a list of {count} values of type {kind}"),
        }
    }
}

fn read_value(cursor: &mut Cursor<'_>, key: &str, kind: u32) -> Result<Value> {
    Ok(match kind {
        0 => Value::Int(u8::from_le_bytes(cursor.array()?).into()),
        1 => Value::Int(i8::from_le_bytes(cursor.array()?).into()),
        2 => Value::Int(u16::from_le_bytes(cursor.array()?).into()),
        3 => Value::Int(i16::from_le_bytes(cursor.array()?).into()),
        4 => Value::Int(cursor.u32()?.into()),
        5 => Value::Int(i32::from_le_bytes(cursor.array()?).into()),
        6 => Value::Float(shortest(f32::from_le_bytes(cursor.array()?))),
        7 => match cursor.array::<1>()?[0] {
            0 => Value::Bool(false),
            1 => Value::Bool(true),
            other => return Err(cursor.refuse().bad(key, "a flag of 0 or 1", other)),
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
        11 => Value::Int(i64::from_le_bytes(cursor.array()?).into()),
        12 => Value::Float(f64::from_le_bytes(cursor.array()?)),
        other => return Err(cursor.refuse().bad(key, "a value type from 0 to 12", other)),
    })
}

/// Walks over the elements of an array, to find its end and to check that the file holds all of it.
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
                return Err(cursor.refuse().bad(key, "arrays at most 4 deep", "a deeper one"));
            }
            other => {
                return Err(cursor.refuse().bad(key, "an element type from 0 to 12", other));
            }
        }
    }
    Ok(())
}

/// The f64 with the shortest decimal form of this f32: 1e-5, not 9.99999974e-6.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}
