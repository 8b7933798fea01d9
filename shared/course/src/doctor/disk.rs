//! Space on the disk.

use std::path::Path;

use super::Check;
use crate::tools::{Course, bytes_text};

/// What the builds of a whole workbook take, about.
const BUILD_BYTES: u64 = 6 << 30;

/// Free bytes for this user on the disk that holds `path`; `None` where that is not known.
#[cfg(unix)]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail * stat.f_frsize)
}

/// Free bytes for this user on the disk that holds `path`; `None` where that is not known.
#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}

pub(super) fn check(course: &Course) -> Check {
    match free_bytes(&course.root) {
        None => Check::note(
            "disk",
            "free space is not known on this system",
            "builds take up to 6 GiB",
        ),
        Some(free) if free < BUILD_BYTES => Check::note(
            "disk",
            format!("{} free", bytes_text(free)),
            "all builds together take up to 6 GiB; `cargo clean` gives back what they took",
        ),
        Some(free) => Check::ok("disk", format!("{} free", bytes_text(free))),
    }
}
