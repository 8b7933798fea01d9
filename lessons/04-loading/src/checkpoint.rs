//! The tensors of a folder's safetensors files as one set.

use crate::bytes::{Access, FileBytes};
use crate::config::ModelConfig;
use crate::dtype::{Dtype, TensorInfo, first_not_finite, first_not_finite_bf16, widen};
use crate::error::{LoadError, Result};
use crate::exercises::{safe_header, stored_name};
use crate::header::Entry;
use crate::shapes::{HEAD, match_names};
use crate::shards::shard_files;
use crate::source::{WeightSource, read_rounded};
use half::bf16;
use std::collections::BTreeMap;
use std::path::Path;

pub use crate::shards::SINGLE_FILE;

/// One open file.
struct Shard {
    file: String,
    bytes: FileBytes,
    data_begin: usize,
}

/// The place of a tensor: its shard, and its checked entry there.
struct Place {
    shard: usize,
    entry: Entry,
}

/// All tensors of a folder, under their stored names. [`Checkpoint::check`] adds the canonical names.
pub struct Checkpoint {
    model: String,
    shards: Vec<Shard>,
    /// Places by stored name.
    places: BTreeMap<String, Place>,
    /// Canonical names with stored names, in the order of the forward pass; empty before `check`.
    names: Vec<(String, String)>,
    /// The same for look-up by canonical name.
    by_name: BTreeMap<String, String>,
}

impl Checkpoint {
    /// Opens the files of a folder and checks their headers. Cost: reads headers (and, when eager, the files).
    ///
    /// # Errors
    /// No such file, a broken header, a name in two shards, or an index that disagrees with the shards.
    pub fn open(folder: &Path, access: Access) -> Result<Self> {
        let (files, index) = shard_files(folder)?;
        let mut checkpoint = Self::empty(folder.display().to_string());
        for file in files {
            let bytes = FileBytes::open(&folder.join(&file), access)?;
            checkpoint.add_shard(file, bytes)?;
        }
        checkpoint.check_index(&index)?;
        Ok(checkpoint)
    }

    /// Opens one file whose bytes are already readable.
    ///
    /// # Errors
    /// A broken header.
    pub fn from_bytes(file: &str, bytes: FileBytes) -> Result<Self> {
        let mut checkpoint = Self::empty(file.to_string());
        checkpoint.add_shard(file.to_string(), bytes)?;
        Ok(checkpoint)
    }

    fn empty(model: String) -> Self {
        Self {
            model,
            shards: Vec::new(),
            places: BTreeMap::new(),
            names: Vec::new(),
            by_name: BTreeMap::new(),
        }
    }

    fn add_shard(&mut self, file: String, bytes: FileBytes) -> Result<()> {
        let header = safe_header(&file, &bytes)?;
        let shard = self.shards.len();
        for entry in header.entries {
            let name = entry.name.clone();
            if (self.places.insert(name.clone(), Place { shard, entry })).is_some() {
                return Err(LoadError::DuplicateName { file, name });
            }
        }
        self.shards.push(Shard {
            file,
            bytes,
            data_begin: header.data_begin,
        });
        Ok(())
    }

    /// Every tensor of the index must be in the shard that the index names. (`check` finds tensors that the index
    /// lacks.)
    fn check_index(&self, index: &BTreeMap<String, String>) -> Result<()> {
        for (name, file) in index {
            let found = (self.places.get(name)).map(|place| &self.shards[place.shard].file);
            if found != Some(file) {
                return Err(LoadError::MissingTensor {
                    model: file.clone(),
                    name: name.clone(),
                });
            }
        }
        Ok(())
    }

    /// Whether the files have a head of their own.
    pub fn has_head(&self) -> bool {
        self.places.contains_key(HEAD)
    }

    /// The entries of all tensors, sorted by stored name.
    pub fn stored(&self) -> impl Iterator<Item = &Entry> {
        self.places.values().map(|place| &place.entry)
    }

    /// Compares the tensors with those that the config implies, and gives each its canonical name. `config` says that
    /// the head is tied if and only if the file has no head ([`Checkpoint::has_head`]).
    ///
    /// # Errors
    /// The first tensor that is missing, has another shape, or has no place in the model.
    pub fn check(&mut self, config: &ModelConfig) -> Result<()> {
        let shapes = self
            .stored()
            .map(|entry| (entry.name.as_str(), entry.shape.as_slice()))
            .collect();
        let stored_as = |name: &str| stored_name(name, &|stored| self.places.contains_key(stored));
        let names = match_names(&self.model, config, &shapes, stored_as)?;
        self.by_name = names.iter().cloned().collect();
        self.names = names;
        Ok(())
    }

    /// The entry and the stored bytes of a tensor, not copied. `name` is canonical or stored.
    pub fn bytes(&self, name: &str) -> Option<(&Entry, &[u8])> {
        let stored = self.by_name.get(name).map_or(name, String::as_str);
        let place = self.places.get(stored)?;
        let shard = &self.shards[place.shard];
        let data = &shard.bytes[shard.data_begin..];
        Some((&place.entry, &data[place.entry.begin..place.entry.end]))
    }

    /// The file, first byte and number of bytes of a tensor, for a caller that reads the file itself.
    ///
    /// # Errors
    /// No such tensor.
    pub fn location(&self, name: &str) -> Result<(&str, u64, u64)> {
        let stored = self.by_name.get(name).map_or(name, String::as_str);
        let Some(Place { shard, entry }) = self.places.get(stored) else {
            return Err(self.missing(name));
        };
        let shard = &self.shards[*shard];
        let begin = shard.data_begin + entry.begin;
        Ok((&shard.file, begin as u64, (entry.end - entry.begin) as u64))
    }

    fn missing(&self, name: &str) -> LoadError {
        LoadError::MissingTensor {
            model: self.model.clone(),
            name: name.to_string(),
        }
    }

    fn tensor(&self, name: &str) -> Result<(&Entry, &[u8])> {
        self.bytes(name).ok_or_else(|| self.missing(name))
    }

    fn not_finite(&self, name: &str, index: usize, value: f32) -> LoadError {
        LoadError::NotFinite {
            model: self.model.clone(),
            name: name.to_string(),
            index,
            value,
        }
    }
}

impl WeightSource for Checkpoint {
    fn names(&self) -> Vec<String> {
        self.names.iter().map(|(name, _)| name.clone()).collect()
    }

    fn info(&self, name: &str) -> Option<TensorInfo> {
        let (entry, _) = self.bytes(name)?;
        Some(TensorInfo {
            dtype: entry.dtype,
            shape: entry.shape.clone(),
        })
    }

    fn read_f32(&self, name: &str, out: &mut Vec<f32>) -> Result<()> {
        let (entry, bytes) = self.tensor(name)?;
        out.clear();
        out.reserve_exact(bytes.len() / entry.dtype.block_bytes());
        widen(entry.dtype, bytes, out);
        count_read(bytes.len(), out.len() * 4);
        match first_not_finite(out) {
            Some(index) => Err(self.not_finite(name, index, out[index])),
            None => Ok(()),
        }
    }

    fn read_bf16(&self, name: &str, out: &mut Vec<bf16>) -> Result<()> {
        let (entry, bytes) = self.tensor(name)?;
        if entry.dtype != Dtype::BF16 {
            return read_rounded(self, name, out);
        }
        // Values that are stored as bf16 need no copy in f32.
        out.clear();
        out.reserve_exact(bytes.len() / 2);
        out.extend(bytes.as_chunks::<2>().0.iter().map(|b| bf16::from_le_bytes(*b)));
        count_read(bytes.len(), bytes.len());
        match first_not_finite_bf16(out) {
            Some(index) => Err(self.not_finite(name, index, out[index].to_f32())),
            None => Ok(()),
        }
    }

    fn stored_bytes(&self) -> u64 {
        (self.places.values())
            .map(|place| (place.entry.end - place.entry.begin) as u64)
            .sum()
    }
}

/// Counts one tensor that was read.
pub(crate) fn count_read(read: usize, written: usize) {
    lab::ledger::count(|ledger| {
        ledger.bytes_read += read as u64;
        ledger.bytes_written += written as u64;
        ledger.add("tensors_read", 1);
    });
}
