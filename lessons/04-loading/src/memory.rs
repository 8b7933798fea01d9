//! How much memory a load takes at its worst moment, and where that is read.

use crate::bytes::{Access, unreadable};
use crate::checkpoint::Checkpoint;
use crate::dtype::widen;
use crate::error::Result;
use crate::folder::open_weights;
use crate::source::WeightSource;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The order in which a loader holds stored bytes and loaded values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadPlan {
    /// Read the whole file, then convert tensor after tensor, then drop the file.
    WholeFile,
    /// Read one tensor, convert it, drop its stored bytes, go on.
    OneByOne,
    /// Map the file and convert out of the mapping.
    Mapped,
}

impl LoadPlan {
    /// All of them, the greediest first.
    pub const ALL: [Self; 3] = [Self::WholeFile, Self::OneByOne, Self::Mapped];

    /// For tables and the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WholeFile => "whole file",
            Self::OneByOne => "one by one",
            Self::Mapped => "mapped",
        }
    }
}

/// Loads all tensors of a folder as `f32` by a plan. What it holds on the heap at most is [`crate::exercises::peak_bytes`],
/// and the header.
///
/// # Errors
/// Whatever is wrong with the folder.
pub fn load_f32(folder: &Path, plan: LoadPlan) -> Result<Vec<Vec<f32>>> {
    let access = match plan {
        LoadPlan::WholeFile => Access::Eager,
        LoadPlan::OneByOne | LoadPlan::Mapped => Access::Mapped,
    };
    let (_, checkpoint) = open_weights(folder, access)?;
    // ANCHOR: load
    let mut tensors = Vec::new();
    for name in checkpoint.names() {
        let mut values = Vec::new();
        match plan {
            LoadPlan::WholeFile | LoadPlan::Mapped => checkpoint.read_f32(&name, &mut values)?,
            LoadPlan::OneByOne => {
                let mut stored = Vec::new();
                read_stored(folder, &checkpoint, &name, &mut stored)?;
                if let Some(info) = checkpoint.info(&name) {
                    values.reserve_exact(info.num_values());
                    widen(info.dtype, &stored, &mut values);
                }
            }
        }
        tensors.push(values);
    }
    // ANCHOR_END: load
    Ok(tensors)
}

/// Appends a tensor's stored bytes to `buffer`, by reading, not through the mapping.
///
/// # Errors
/// A file that can not be read.
pub fn read_stored(folder: &Path, checkpoint: &Checkpoint, name: &str, buffer: &mut Vec<u8>) -> Result<()> {
    let (file, begin, length) = checkpoint.location(name)?;
    let path = folder.join(file);
    let unreadable = |error| unreadable(&path, &error, "check the path and the rights");
    let mut file = File::open(&path).map_err(unreadable)?;
    file.seek(SeekFrom::Start(begin)).map_err(unreadable)?;
    buffer.reserve_exact(length as usize);
    file.take(length).read_to_end(buffer).map_err(unreadable)?;
    Ok(())
}

/// One line of `/proc/self/status`, in bytes: `VmHWM` is the most memory that was resident at once since the process
/// began (mapped pages of files included), `VmRSS` what is resident now. `None` where there is no such file.
pub fn proc_status_bytes(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
