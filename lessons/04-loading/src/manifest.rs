//! The manifest: the SHA-256 digest of each file, with its licence and origin.
//!
//! A header can tell that a file is cut off. It can not tell that a byte in the middle is wrong, or that the weights
//! are those of another training run: every value is a possible weight. Only a digest made when the file was right can
//! tell.

use crate::bytes::{read_text, unreadable};
use crate::error::{LoadError, Result};
use crate::write::write_text;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A list of files with their digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this format: 1.
    pub schema: u32,
    /// The records, one for each file.
    pub files: Vec<FileRecord>,
}

/// The record of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Path relative to the manifest's folder, with `/`.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// Digest, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// SPDX name of the licence.
    pub licence: String,
    /// Source of the file, or the command that made it.
    pub origin: String,
}

/// SHA-256 of a file as lower-case hexadecimal digits. Cost: reads the file once, through one MiB of memory.
///
/// # Errors
/// [`LoadError::Unreadable`].
pub fn sha256_file(path: &Path) -> Result<String> {
    let unreadable = |error| unreadable(path, &error, "check the path and the rights");
    let mut file = File::open(path).map_err(unreadable)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut buffer).map_err(unreadable)?;
        if count == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&buffer[..count]);
    }
}

/// SHA-256 of bytes in memory, as lower-case hexadecimal digits.
pub fn sha256_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares a file with its digest.
///
/// # Errors
/// [`LoadError::WrongChecksum`], or a file that can not be read.
pub fn verify_file(path: &Path, sha256: &str) -> Result<()> {
    let found = sha256_file(path)?;
    if found.eq_ignore_ascii_case(sha256) {
        return Ok(());
    }
    Err(LoadError::WrongChecksum {
        file: path.display().to_string(),
        expected: sha256.into(),
        found,
    })
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// No such file, or a file of another form.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path, "check the path of the manifest")?;
        let bad = |found: String| LoadError::BadHeader {
            file: path.display().to_string(),
            place: "manifest".into(),
            expected: "schema 1 and a list of files".into(),
            found,
        };
        let manifest: Self = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        if manifest.schema != 1 {
            return Err(bad(format!("schema {}", manifest.schema)));
        }
        Ok(manifest)
    }

    /// Compares one file with its record: first the length, which needs no reading, then the digest.
    ///
    /// # Errors
    /// [`LoadError::CutOff`], [`LoadError::TrailingBytes`], [`LoadError::WrongChecksum`], or a file that can not be
    /// read.
    pub fn verify(record: &FileRecord, folder: &Path) -> Result<()> {
        let path = folder.join(&record.path);
        let advice = "fetch the repository again, or make the file as its origin says";
        let metadata = std::fs::metadata(&path).map_err(|error| unreadable(&path, &error, advice))?;
        let (file, found_bytes) = (path.display().to_string(), metadata.len());
        let expected_bytes = record.bytes;
        if found_bytes < expected_bytes {
            return Err(LoadError::CutOff {
                file,
                expected_bytes,
                found_bytes,
            });
        }
        if found_bytes > expected_bytes {
            return Err(LoadError::TrailingBytes {
                file,
                expected_bytes,
                found_bytes,
            });
        }
        verify_file(&path, &record.sha256)
    }

    /// Records length and digest of every listed file anew.
    ///
    /// # Errors
    /// A listed file that can not be read.
    pub fn refresh(&mut self, folder: &Path) -> Result<()> {
        for record in &mut self.files {
            let path = folder.join(&record.path);
            record.sha256 = sha256_file(&path)?;
            record.bytes = std::fs::metadata(&path)
                .map_err(|error| unreadable(&path, &error, "check the path and the rights"))?
                .len();
        }
        Ok(())
    }

    /// Writes the manifest.
    ///
    /// # Errors
    /// [`LoadError::Unwritable`].
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        write_text(path, &(text + "\n"))
    }
}

/// The folder to which the paths of a manifest are relative.
pub fn folder_of(manifest: &Path) -> PathBuf {
    manifest.parent().unwrap_or(Path::new(".")).to_path_buf()
}
