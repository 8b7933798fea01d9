//! Loading by a plan, and the memory that a process used at its worst moment.

use crate::bytes::{Access, unreadable};
use crate::checkpoint::Checkpoint;
use crate::dtype::widen;
use crate::error::Result;
use crate::folder::open_weights;
use crate::source::WeightSource;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

// Learners' files name it here.
pub use crate::bytes::LoadPlan;

/// Loads all tensors of a folder as `f32` by a plan. It holds at most [`crate::exercises::peak_bytes`] on the heap, and
/// the header.
///
/// # Errors
/// Those of [`open_weights`], and a tensor that can not be read.
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

/// Appends the stored bytes of a tensor to `buffer`. It reads them from the file, not through the mapping.
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

/// Reads one line of `/proc/self/status`, in bytes: `VmHWM` is the highest resident memory since the process began
/// (mapped pages of files included), `VmRSS` the resident memory now. `None` where there is no such file.
pub fn proc_status_bytes(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
