//! GGUF, the one-file format of llama.cpp: sizes, vocabulary, template and weights together. The weights are often in
//! blocks of 4 or 8 bits.
//!
//! ```text
//! "GGUF" | version 2 or 3: u32 | tensors: u64 | pairs: u64
//! pairs:   key, type, value                                        -> metadata, config, vocabulary
//! tensors: name | dims: u32 | sizes: u64 each, innermost first | type: u32 | offset: u64
//! padding to the alignment (32 unless `general.alignment` says otherwise)
//! data:    each tensor at its offset, padded to the alignment
//! ```
//! Version 3 added files in big endian, which this loader does not read; in little endian the two are laid out alike.
//! Source: `docs/gguf.md` of the ggml repository. Blocks become `f32` when they are read.

pub mod blocks;
pub mod config;
pub mod cursor;
mod k_blocks;
pub mod metadata;
pub mod names;
pub mod rotary;
mod tensors;
pub mod vocabulary;

use crate::bytes::FileBytes;
use crate::checkpoint::count_read;
use crate::config::ModelConfig;
use crate::dtype::{Dtype, TensorInfo, first_not_finite};
use crate::error::{LoadError, Result};
use crate::header::{Entry, Refuse};
use crate::shapes::match_names;
use crate::source::WeightSource;
use cursor::Cursor;
use metadata::Metadata;
use std::collections::BTreeMap;
use tensors::{check_layout, read_entry};

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
    /// Whether the rows of queries and keys are in the interleaved order.
    pairs_neighbours: bool,
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
        if !(2..=3).contains(&version) {
            return Err(refuse.bad("version", "2 or 3, little endian", version));
        }
        let (tensors, pairs) = (cursor.u64()?, cursor.u64()?);
        let num_pairs = cursor.check_count("number of metadata pairs", pairs, 8 + 4 + 1)?;
        let metadata = Metadata::read(&mut cursor, num_pairs)?;
        let num_tensors = cursor.check_count("number of tensors", tensors, 8 + 4 + 4 + 8)?;
        let mut entries = Vec::with_capacity(num_tensors);
        for _ in 0..num_tensors {
            entries.push(read_entry(&mut cursor)?);
        }
        let alignment = metadata.count("general.alignment")?.unwrap_or(32);
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
            pairs_neighbours: false,
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
    pub fn check(&mut self, config: &ModelConfig) -> Result<()> {
        let entries = self.tensors.values().filter(|entry| entry.name != ROPE_FREQS);
        let shapes = entries
            .map(|entry| (entry.name.as_str(), entry.shape.as_slice()))
            .collect();
        self.names = match_names(&self.file, config, &shapes, names::gguf_name)?;
        self.head_dim = config.llama.head_dim;
        self.pairs_neighbours = config.architecture.gguf_pairs_neighbours;
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
        let is_turned = name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight");
        // Only files of `llama` are reordered: their engine pairs neighbours. That of `qwen2` and `qwen3` pairs the
        // halves of a head, so their rows stand as in Hugging Face's files.
        let is_rotary = is_turned && self.pairs_neighbours;
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
