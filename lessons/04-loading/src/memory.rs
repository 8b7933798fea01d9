//! How much memory a load takes at its worst moment, and where that is read.

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

/// One line of `/proc/self/status`, in bytes: `VmHWM` is the most memory that was resident at once since the process
/// began (mapped pages of files included), `VmRSS` what is resident now. `None` where there is no such file.
pub fn proc_status_bytes(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| {
        line.strip_prefix(key)
            .is_some_and(|rest| rest.starts_with(':'))
    })?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
