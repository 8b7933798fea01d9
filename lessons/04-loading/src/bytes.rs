//! A file as a slice of bytes: read whole into memory, or mapped.
//!
//! ```text
//! eager    open, allocate, read every byte        the wait is here; memory holds the whole file
//! mapped   open, mmap                             instant; a page is read when it is first touched
//! ```
//!
//! Mapping does not make the reading cheaper, it moves it: into the conversion, or into the first token. (Tried without
//! gain: announcing each tensor with `MADV_WILLNEED` before it is read. Cold, 513 MiB took 420 to 590 ms with it and
//! 480 to 760 without; the system reads ahead by itself when pages are touched in order.)

use crate::error::{LoadError, Result};
use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::Path;

/// How the bytes of a file are made readable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Mapped into the address space; a page is read when it is touched.
    #[default]
    Mapped,
    /// Read whole when the file is opened.
    Eager,
}

/// The order in which a loader holds stored bytes and loaded values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadPlan {
    /// Read the whole file, convert tensor after tensor, then drop the file.
    WholeFile,
    /// Read one tensor, convert it, drop its stored bytes, continue with the next one.
    OneByOne,
    /// Map the file and convert out of the mapping.
    Mapped,
}

impl LoadPlan {
    /// All plans, in falling order of the memory that they need.
    pub const ALL: [Self; 3] = [Self::WholeFile, Self::OneByOne, Self::Mapped];

    /// The name in tables and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WholeFile => "whole file",
            Self::OneByOne => "one by one",
            Self::Mapped => "mapped",
        }
    }
}

/// The bytes of one file.
pub enum FileBytes {
    /// A private, read-only mapping.
    Mapped(memmap2::Mmap),
    /// A copy on the heap.
    Eager(Vec<u8>),
}

impl FileBytes {
    /// Opens `path`. Cost: mapped, one system call; eager, the file's length in memory and in reading.
    ///
    /// # Errors
    /// [`LoadError::Unreadable`] if it is not a readable file.
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        let unreadable = |error| unreadable(path, &error, "check the path and the rights");
        let mut file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(LoadError::Unreadable {
                path: path.display().to_string(),
                reason: "it is not an ordinary file".into(),
                advice: "give the path of a file",
            });
        }
        // ANCHOR: open
        // An empty mapping is an error on Linux.
        if access == Access::Eager || metadata.len() == 0 {
            let mut bytes = Vec::with_capacity(metadata.len() as usize);
            file.read_to_end(&mut bytes).map_err(unreadable)?;
            return Ok(Self::Eager(bytes));
        }
        // SAFETY: the mapping is read-only, and its bytes are read as plain integers, for which any value is allowed.
        // Another process may write to the file or cut it off: then values change, or this process gets SIGBUS. That is
        // the known price of mapping. Models are written under another name and renamed (as `convert` does), which
        // leaves a mapped file as it was.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(unreadable)?;
        Ok(Self::Mapped(map))
        // ANCHOR_END: open
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Eager(bytes) => bytes,
        }
    }
}

/// Reads a small text file.
///
/// # Errors
/// [`LoadError::Unreadable`], with `advice` in it.
pub fn read_text(path: &Path, advice: &'static str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error, advice))
}

/// The error for a file that the operating system does not let us read.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error, advice: &'static str) -> LoadError {
    LoadError::Unreadable {
        path: path.display().to_string(),
        reason: reason(error),
        advice,
    }
}

/// The message of the operating system, without its number.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string().to_lowercase();
    match text.find(" (os error") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}
