//! Kinds of damage to a weight file. The header check refuses some of them, the check of the values others, and some
//! only the checksum.

use crate::dtype::Dtype;
use crate::exercises::safe_header;
use crate::header::Entry;
use serde_json::Value;

/// A kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The download stopped.
    CutOff,
    /// The first eight bytes are those of another format.
    ForgedLength,
    /// The offsets of a tensor point into its neighbour.
    Overlap,
    /// A weight is NaN.
    NotANumber,
    /// One bit of one weight is wrong.
    FlippedBit,
    /// Two tensors of one shape stand in each other's place.
    Swapped,
}

impl Damage {
    /// All kinds, in the order of the checks that refuse them.
    pub const ALL: [Self; 6] = [
        Self::CutOff,
        Self::ForgedLength,
        Self::Overlap,
        Self::NotANumber,
        Self::FlippedBit,
        Self::Swapped,
    ];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CutOff => "cut off at one half",
            Self::ForgedLength => "header length forged",
            Self::Overlap => "two tensors overlap",
            Self::NotANumber => "one weight is NaN",
            Self::FlippedBit => "one bit flipped",
            Self::Swapped => "two layers swapped",
        }
    }

    /// Damages a correct safetensors file. For [`Damage::Swapped`] it must have two tensors of one shape; another file
    /// is returned unchanged.
    pub fn apply(self, file: &[u8]) -> Vec<u8> {
        let mut broken = file.to_vec();
        let Ok(header) = safe_header("file", file) else {
            return broken;
        };
        let middle = &header.entries[header.entries.len() / 2];
        let weight = header.data_begin + middle.begin;
        match self {
            Self::CutOff => broken.truncate(file.len() / 2),
            Self::ForgedLength => broken[..8].copy_from_slice(b"PK\x03\x04\x14\0\0\0"),
            Self::Overlap => return edit_header(file, |json| overlap(json, middle)),
            Self::NotANumber => {
                let last = weight + middle.dtype.block_bytes() - 1;
                broken[last] = 0x7f;
                broken[last - 1] = 0xff;
            }
            // A bit of the fraction, so that the weight stays plausible.
            Self::FlippedBit => match middle.dtype {
                Dtype::F32 => broken[weight + 2] ^= 0x40,
                _ => broken[weight] ^= 0x40,
            },
            Self::Swapped => return edit_header(file, |json| swap(json, &header.entries)),
        }
        broken
    }
}

/// Moves a tensor one value towards the front and keeps its length.
fn overlap(json: &mut Value, entry: &Entry) {
    let value = entry.dtype.block_bytes();
    if entry.begin >= value {
        json[&entry.name]["data_offsets"] = serde_json::json!([entry.begin - value, entry.end - value]);
    }
}

/// Exchanges the bytes of the first two tensors of one shape and type.
fn swap(json: &mut Value, entries: &[Entry]) {
    let same = |a: &Entry, b: &Entry| a.shape == b.shape && a.dtype == b.dtype && a.shape.len() == 2;
    let pair = entries.iter().enumerate().find_map(|(index, a)| {
        let b = entries[index + 1..].iter().find(|b| same(a, b))?;
        Some((&a.name, &b.name))
    });
    if let Some((a, b)) = pair {
        let first = json[a]["data_offsets"].take();
        json[a]["data_offsets"] = json[b]["data_offsets"].take();
        json[b]["data_offsets"] = first;
    }
}

/// The same data behind an edited header.
pub fn edit_header(file: &[u8], edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let Some((length, rest)) = file.split_first_chunk::<8>() else {
        return file.to_vec();
    };
    let length = u64::from_le_bytes(*length) as usize;
    let Some(mut json) = rest.get(..length).and_then(|json| serde_json::from_slice(json).ok()) else {
        return file.to_vec();
    };
    edit(&mut json);
    let json = json.to_string().into_bytes();
    let mut edited = (json.len() as u64).to_le_bytes().to_vec();
    edited.extend(json);
    edited.extend_from_slice(&rest[length..]);
    edited
}
