//! Cold and warm: whether the operating system holds a file's pages.
//!
//! The second read of a file does not touch the disk. To measure a first read again without a restart, the pages are
//! dropped with `posix_fadvise(POSIX_FADV_DONTNEED)` (after `fsync`, because only clean pages can be dropped), and
//! `mincore` counts the pages that are left. The file system's own tables and the caches below the operating system
//! stay warm.

use std::fs::File;
use std::io;
use std::path::Path;

/// Drops a file's pages from the page cache, as far as the system follows the advice.
///
/// # Errors
/// The file can not be opened, or the system has no such call.
#[cfg(target_os = "linux")]
pub fn drop_pages(path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // ANCHOR: drop
    let file = File::open(path)?;
    file.sync_all()?;
    // SAFETY: the call takes a descriptor that is open until the end of this function, and no pointer. Length 0 means
    // to the end of the file.
    let error = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    match error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
    // ANCHOR_END: drop
}

/// Drops a file's pages from the page cache: not on this system.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn drop_pages(path: &Path) -> io::Result<()> {
    File::open(path)?;
    Err(io::ErrorKind::Unsupported.into())
}

/// Share of a file's pages that are in the page cache, from 0 to 1. Reads none of them.
///
/// # Errors
/// The file can not be mapped, or the system has no such call.
#[cfg(target_os = "linux")]
pub fn resident_share(path: &Path) -> io::Result<f64> {
    let file = File::open(path)?;
    // SAFETY: nothing is read through the mapping; only its address and length are used.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    // SAFETY: no pointer goes in; the call only returns a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let mut pages = vec![0_u8; map.len().div_ceil(page)];
    // SAFETY: the range is a live mapping that begins on a page, and `pages` has one byte for each of its pages.
    let result = unsafe { libc::mincore(map.as_ptr() as *mut _, map.len(), pages.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let resident = pages.iter().filter(|page| **page & 1 == 1).count();
    Ok(resident as f64 / pages.len().max(1) as f64)
}

/// Share of a file's pages that are in the page cache: not known on this system.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn resident_share(path: &Path) -> io::Result<f64> {
    File::open(path)?;
    Err(io::ErrorKind::Unsupported.into())
}

/// Reads a file once, so that its pages are in the cache.
///
/// # Errors
/// The file can not be read.
pub fn warm(path: &Path) -> io::Result<u64> {
    io::copy(&mut File::open(path)?, &mut io::sink())
}
