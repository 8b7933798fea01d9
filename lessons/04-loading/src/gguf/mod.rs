//! GGUF, the one-file format of llama.cpp: sizes, vocabulary, template and weights together. The weights are often in
//! blocks of 4 or 8 bits.
//!
//! ```text
//! "GGUF" | version 3: u32 | tensors: u64 | pairs: u64
//! pairs:   key, type, value                                        -> metadata, config, vocabulary
//! tensors: name | dims: u32 | sizes: u64 each, innermost first | type: u32 | offset: u64
//! padding to the alignment (32 unless `general.alignment` says otherwise)
//! data:    each tensor at its offset, padded to the alignment
//! ```
//! Source: `docs/gguf.md` of the ggml repository. Blocks become `f32` when they are read.

pub mod blocks;
pub mod config;
pub mod cursor;
pub mod metadata;
pub mod names;
pub mod rotary;
pub mod vocabulary;

use crate::bytes::FileBytes;
use crate::checkpoint::count_read;
use crate::dtype::{Dtype, TensorInfo, first_not_finite};
use crate::error::{LoadError, Result};
use crate::header::{Entry, Refuse};
use crate::shapes::match_names;
use crate::source::WeightSource;
use cursor::Cursor;
use metadata::Metadata;
use std::collections::BTreeMap;
use training::config::LlamaConfig;

/// Name of the tensor with the divisors of llama3 scaling.
pub const ROPE_FREQS: &str = "rope_freqs.weight";

/// An open GGUF file, under its own tensor names. [`Gguf::check`] adds the canonical names.
pub struct Gguf {
    file: String,
    bytes: FileBytes,
    metadata: Metadata,
    data_begin: usize,
    /// Entries by the file's names.
    tensors: BTreeMap<String, Entry>,
    /// Canonical names with the file's names, in the order of the forward pass; empty before `check`.
    names: Vec<(String, String)>,
    head_dim: usize,
}

impl Gguf {
    /// Reads the header. Cost: in proportion to the length of the header, which holds the vocabulary.
    ///
    /// # Errors
    /// Another format or version, a file that ends early, tensors with an overlap or a gap, an unknown type.
    pub fn from_bytes(file: &str, bytes: FileBytes) -> Result<Self> {
        let refuse = Refuse { file };
        let mut cursor = Cursor::new(file, &bytes);
        let magic = cursor.take(4)?;
        if magic != b"GGUF" {
            let found = format!("`{}`", magic.escape_ascii());
            return Err(refuse.bad("first four bytes", "`GGUF`", found));
        }
        let version = cursor.u32()?;
        if version != 3 {
            return Err(refuse.bad("version", "3, little endian", version));
        }
        let (tensors, pairs) = (cursor.u64()?, cursor.u64()?);
        let num_pairs = cursor.check_count("number of metadata pairs", pairs, 8 + 4 + 1)?;
        let metadata = Metadata::read(&mut cursor, num_pairs)?;
        let num_tensors = cursor.check_count("number of tensors", tensors, 8 + 4 + 4 + 8)?;
        let mut entries = Vec::with_capacity(num_tensors);
        for _ in 0..num_tensors {
            entries.push(read_entry(&mut cursor)?);
        }
        let alignment = match metadata.get("general.alignment") {
            None => 32,
            Some(_) => metadata.count("general.alignment").unwrap_or(0),
        };
        if !alignment.is_power_of_two() || alignment > 1 << 20 {
            let expected = "a power of two up to 2^20";
            return Err(refuse.bad("general.alignment", expected, alignment));
        }
        let data_begin = cursor.position().next_multiple_of(alignment);
        check_layout(file, &mut entries, alignment, data_begin, bytes.len())?;
        let mut by_name = BTreeMap::new();
        for entry in entries {
            let name = entry.name.clone();
            if by_name.insert(name.clone(), entry).is_some() {
                return Err(refuse.duplicate(&name));
            }
        }
        Ok(Self {
            file: file.into(),
            metadata,
            data_begin,
            tensors: by_name,
            names: Vec::new(),
            head_dim: 0,
            bytes,
        })
    }

    /// The file's name, for errors and tables.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The key-value pairs.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The whole file.
    pub fn file_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Tensors under the file's names.
    pub fn tensors(&self) -> impl Iterator<Item = &Entry> {
        self.tensors.values()
    }

    /// A tensor under the file's name, with its stored bytes.
    pub fn tensor(&self, name: &str) -> Option<(&Entry, &[u8])> {
        let entry = self.tensors.get(name)?;
        let data = &self.bytes[self.data_begin..];
        Some((entry, &data[entry.begin..entry.end]))
    }

    /// Compares the tensors with those that the config implies, and gives each its canonical name.
    ///
    /// # Errors
    /// The first tensor that is missing, has another shape, or has no place in the model.
    pub fn check(&mut self, config: &LlamaConfig) -> Result<()> {
        let entries = self.tensors.values().filter(|entry| entry.name != ROPE_FREQS);
        let shapes = entries
            .map(|entry| (entry.name.as_str(), entry.shape.as_slice()))
            .collect();
        self.names = match_names(&self.file, config, &shapes, names::gguf_name)?;
        self.head_dim = config.head_dim;
        Ok(())
    }

    fn stored(&self, name: &str) -> Result<(&Entry, &[u8])> {
        // Before `check` no tensor has a canonical name.
        let stored = names::gguf_name(name).filter(|_| self.head_dim > 0);
        (stored.and_then(|stored| self.tensor(&stored))).ok_or_else(|| LoadError::MissingTensor {
            model: self.file.clone(),
            name: name.into(),
        })
    }

    /// Calls `row` with the stored bytes of each row of a tensor, in the half-split order.
    fn each_row(&self, name: &str, mut row: impl FnMut(Dtype, &[u8])) -> Result<()> {
        let (entry, bytes) = self.stored(name)?;
        let is_rotary = name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight");
        let row_bytes = match entry.shape[..] {
            [rows, _] if rows > 0 => bytes.len() / rows,
            _ => bytes.len(),
        };
        for index in 0..bytes.len() / row_bytes.max(1) {
            let from = match is_rotary {
                true => rotary::interleaved_row(index, self.head_dim),
                false => index,
            };
            row(entry.dtype, &bytes[from * row_bytes..][..row_bytes]);
        }
        Ok(())
    }
}

impl WeightSource for Gguf {
    fn names(&self) -> Vec<String> {
        self.names.iter().map(|(name, _)| name.clone()).collect()
    }

    fn info(&self, name: &str) -> Option<TensorInfo> {
        let (entry, _) = self.stored(name).ok()?;
        Some(TensorInfo {
            dtype: entry.dtype,
            shape: entry.shape.clone(),
        })
    }

    fn read_f32(&self, name: &str, out: &mut Vec<f32>) -> Result<()> {
        let (entry, bytes) = self.stored(name)?;
        out.clear();
        out.reserve_exact(entry.shape.iter().product());
        self.each_row(name, |dtype, row| blocks::dequantize(dtype, row, out))?;
        count_read(bytes.len(), out.len() * 4);
        match first_not_finite(out) {
            Some(index) => Err(LoadError::NotFinite {
                model: self.file.clone(),
                name: name.into(),
                index,
                value: out[index],
            }),
            None => Ok(()),
        }
    }

    fn stored_bytes(&self) -> u64 {
        (self.tensors.values())
            .map(|entry| (entry.end - entry.begin) as u64)
            .sum()
    }
}

/// Reads one entry of the tensor list. `begin` is the offset in the file, `end` follows from shape and type.
fn read_entry(cursor: &mut Cursor<'_>) -> Result<Entry> {
    let name = cursor.str()?.to_string();
    let num_dims = cursor.u32()?;
    if !(1..=4).contains(&num_dims) {
        return Err(cursor.refuse().bad(&name, "1 to 4 dimensions", num_dims));
    }
    let mut sizes = Vec::with_capacity(4);
    for _ in 0..num_dims {
        sizes.push(cursor.u64()?);
    }
    let kind = cursor.u32()?;
    let begin = cursor.u64()?;
    let Some(dtype) = dtype_of(kind) else {
        return Err(LoadError::WrongDtype {
            file: cursor.refuse().file.into(),
            name,
            expected: "type F32, F16, BF16, Q8_0, Q4_0 or Q4_1",
            found: type_name(kind),
        });
    };
    let row_len = sizes[0];
    if row_len % dtype.block_len() as u64 != 0 {
        let expected = format!("rows of whole blocks of {}", dtype.block_len());
        return Err(cursor.refuse().bad(&name, &expected, row_len));
    }
    let num_values = (sizes.iter()).try_fold(1_u64, |product, &n| product.checked_mul(n));
    let num_bytes = num_values.and_then(|n| dtype.bytes(n));
    let Some(end) = num_bytes.and_then(|bytes| begin.checked_add(bytes)) else {
        return Err(cursor.refuse().overflow(&name, sizes));
    };
    Ok(Entry {
        name,
        dtype,
        shape: sizes.iter().rev().map(|&n| n as usize).collect(),
        begin: begin as usize,
        end: end as usize,
    })
}

/// Sorts the tensors by offset and checks that they follow each other, padded to the alignment, up to the end of the
/// file.
fn check_layout(file: &str, entries: &mut [Entry], alignment: usize, data_begin: usize, file_len: usize) -> Result<()> {
    let refuse = Refuse { file };
    entries.sort_by_key(|entry| (entry.begin, entry.end));
    let mut end = 0_usize;
    for (index, entry) in entries.iter().enumerate() {
        if entry.begin < end {
            return Err(refuse.overlap(&entries[index - 1], entry));
        }
        let expected = end.checked_next_multiple_of(alignment).unwrap_or(usize::MAX);
        if entry.begin != expected {
            return Err(refuse.gap(entry, expected));
        }
        end = entry.end;
    }
    let expected_bytes = data_begin.saturating_add(end) as u64;
    let found_bytes = file_len as u64;
    if found_bytes < expected_bytes {
        return Err(refuse.cut_off(expected_bytes, found_bytes));
    }
    // The last tensor may be padded too.
    if found_bytes > expected_bytes.next_multiple_of(alignment as u64) {
        return Err(refuse.trailing(expected_bytes, found_bytes));
    }
    Ok(())
}

fn dtype_of(kind: u32) -> Option<Dtype> {
    match kind {
        0 => Some(Dtype::F32),
        1 => Some(Dtype::F16),
        2 => Some(Dtype::Q4_0),
        3 => Some(Dtype::Q4_1),
        8 => Some(Dtype::Q8_0),
        30 => Some(Dtype::BF16),
        _ => None,
    }
}

/// llama.cpp's name of a type that this loader does not read.
fn type_name(kind: u32) -> String {
    let name = match kind {
        6 => "Q5_0",
        7 => "Q5_1",
        9 => "Q8_1",
        10 => "Q2_K",
        11 => "Q3_K",
        12 => "Q4_K",
        13 => "Q5_K",
        14 => "Q6_K",
        15 => "Q8_K",
        _ => return format!("number {kind}"),
    };
    name.into()
}
