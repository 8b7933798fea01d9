//! The header of a safetensors file, read by hand.
//!
//! ```text
//! byte 0        8                    8 + n                                     end of file
//!      | n: u64 | n bytes of JSON    | tensor data, one after the other             |
//!                 {"embed": {"dtype":"BF16","shape":[2048,256],"data_offsets":[0,1048576]}, ...}
//!                 offsets count from 8 + n; [begin, end)
//! ```
//!
//! The format can not run code: that is the meaning of "safe" in its name. All other checks are the reader's duty,
//! because each number in the header comes from outside. The checks are in [`crate::exercises::safe_header`]. This file
//! has its result, the check of one claim by itself, and the JSON behind it. An ordinary JSON map would silently keep
//! the last of two equal names, so the map is read entry by entry.

use crate::dtype::Dtype;
use crate::error::{LoadError, Result};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt::{self, Display};

// ANCHOR: types
/// One checked tensor of a file: `end - begin` fits shape and type, and `data_begin + end` lies in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name in the file.
    pub name: String,
    /// How its values are stored.
    pub dtype: Dtype,
    /// Row-major, outermost first.
    pub shape: Vec<usize>,
    /// Index of the first byte, from the start of the data section.
    pub begin: usize,
    /// Index after the last byte, from the start of the data section.
    pub end: usize,
}

/// A checked header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Byte of the file at which the data section begins.
    pub data_begin: usize,
    /// All tensors, in the order of their bytes.
    pub entries: Vec<Entry>,
    /// Free texts of the writer, such as `format: pt`.
    pub metadata: BTreeMap<String, String>,
}

/// One tensor as the header describes it, not checked.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct RawEntry {
    /// Name of a number format, known or not.
    pub dtype: String,
    /// Any numbers.
    pub shape: Vec<u64>,
    /// Any numbers.
    pub data_offsets: [u64; 2],
}

/// A header as it is in the file: all claims in the file's order, equal names included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawHeader {
    /// Names and claims.
    pub entries: Vec<(String, RawEntry)>,
    /// The content of each `__metadata__` key.
    pub metadata: Vec<BTreeMap<String, String>>,
}

// ANCHOR_END: types

impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = RawHeader;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a map from tensor names to dtype, shape and data_offsets")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHeader, A::Error> {
                let mut header = RawHeader::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        // Some writers store `null` where there are no texts.
                        header.metadata.push(map.next_value::<Option<_>>()?.unwrap_or_default());
                    } else {
                        header.entries.push((name, map.next_value()?));
                    }
                }
                Ok(header)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// The errors of a reader, each with the name of the file.
#[derive(Clone, Copy)]
pub struct Refuse<'a> {
    /// The file.
    pub file: &'a str,
}

impl Refuse<'_> {
    /// The file ends before its last tensor.
    pub fn cut_off(&self, expected_bytes: u64, found_bytes: u64) -> LoadError {
        LoadError::CutOff {
            file: self.file.into(),
            expected_bytes,
            found_bytes,
        }
    }

    /// The file goes on after its last tensor.
    pub fn trailing(&self, expected_bytes: u64, found_bytes: u64) -> LoadError {
        LoadError::TrailingBytes {
            file: self.file.into(),
            expected_bytes,
            found_bytes,
        }
    }

    /// The header is longer than the file.
    pub fn header_too_long(&self, header_bytes: u64, file_bytes: u64) -> LoadError {
        LoadError::HeaderTooLong {
            file: self.file.into(),
            header_bytes,
            file_bytes,
        }
    }

    /// A place in the header breaks a rule of the format.
    pub fn bad(&self, place: &str, expected: &str, found: impl Display) -> LoadError {
        LoadError::BadHeader {
            file: self.file.into(),
            place: place.into(),
            expected: expected.into(),
            found: found.to_string(),
        }
    }

    /// A name occurs twice.
    pub fn duplicate(&self, name: &str) -> LoadError {
        LoadError::DuplicateName {
            file: self.file.into(),
            name: name.into(),
        }
    }

    /// The loader does not read this type.
    pub fn dtype(&self, name: &str, found: String) -> LoadError {
        LoadError::WrongDtype {
            file: self.file.into(),
            name: name.into(),
            expected: "type F32, F16 or BF16",
            found,
        }
    }

    /// The size of a tensor fits no integer.
    pub fn overflow(&self, name: &str, shape: Vec<u64>) -> LoadError {
        LoadError::ShapeOverflow {
            file: self.file.into(),
            name: name.into(),
            shape,
        }
    }

    /// A tensor has more or fewer bytes than its shape and type need.
    pub fn length(&self, name: &str, expected_bytes: u64, found_bytes: u64) -> LoadError {
        LoadError::WrongLength {
            file: self.file.into(),
            name: name.into(),
            expected_bytes,
            found_bytes,
        }
    }

    /// `second` begins before `first` ends.
    pub fn overlap(&self, first: &Entry, second: &Entry) -> LoadError {
        LoadError::Overlap {
            file: self.file.into(),
            first: first.name.clone(),
            first_end: first.end as u64,
            second: second.name.clone(),
            second_begin: second.begin as u64,
        }
    }

    /// `entry` does not begin where it should.
    pub fn gap(&self, entry: &Entry, expected_begin: usize) -> LoadError {
        LoadError::Gap {
            file: self.file.into(),
            name: entry.name.clone(),
            expected_begin: expected_begin as u64,
            found_begin: entry.begin as u64,
        }
    }
}

/// Most bytes of a header, as in the reader that the format comes from.
pub const MAX_HEADER_BYTES: usize = 100_000_000;

/// Reads the JSON of a header and checks none of its claims. A header that is too long, or that is not UTF-8 anywhere
/// (keys that are passed over too), is refused.
///
/// # Errors
/// What was found instead of a header.
pub fn parse_json(json: &[u8]) -> Result<RawHeader, String> {
    if json.len() > MAX_HEADER_BYTES {
        return Err(format!("{} bytes, more than {MAX_HEADER_BYTES}", json.len()));
    }
    let text = std::str::from_utf8(json).map_err(|error| error.to_string())?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// The number format with this name, if a safetensors file can hold it and the loader can read it.
pub fn dtype_of(name: &str) -> Option<Dtype> {
    match name {
        "F32" => Some(Dtype::F32),
        "F16" => Some(Dtype::F16),
        "BF16" => Some(Dtype::BF16),
        _ => None,
    }
}

// ANCHOR: checked_entry
/// Checks one claim by itself: the loader reads its type, its offsets run forwards, and the number of bytes between
/// them fits its shape and type. Whether they lie in the file and between their neighbours takes all claims together.
///
/// # Errors
/// The first of these checks that fails.
pub fn checked_entry(refuse: Refuse<'_>, name: String, claim: RawEntry) -> Result<Entry> {
    let Some(dtype) = dtype_of(&claim.dtype) else {
        return Err(refuse.dtype(&name, claim.dtype));
    };
    let [begin, end] = claim.data_offsets;
    if begin > end {
        return Err(refuse.bad(&name, "begin <= end", format!("[{begin}, {end})")));
    }
    let num_values = (claim.shape.iter()).try_fold(1_u64, |product, &n| product.checked_mul(n));
    let Some(needed_bytes) = num_values.and_then(|n| dtype.bytes(n)) else {
        return Err(refuse.overflow(&name, claim.shape));
    };
    if end - begin != needed_bytes {
        return Err(refuse.length(&name, needed_bytes, end - begin));
    }
    Ok(Entry {
        name,
        dtype,
        shape: claim.shape.iter().map(|&n| n as usize).collect(),
        begin: begin as usize,
        end: end as usize,
    })
}
// ANCHOR_END: checked_entry
