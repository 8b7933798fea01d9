//! Processor, cores, memory, huge pages, disk.

use std::path::Path;

use lab::machine::Machine;
use lab::number;

use super::Check;
use crate::tools::Course;

/// What is needed to run the first lessons with the default model: the build, more than the model.
const SMALL_MEMORY: u64 = 4 << 30;

/// Which kernels this processor can run. The same list as lesson 02's run-time detection.
pub(super) fn processor(machine: &Machine) -> Check {
    let (path, advice) = kernel_path();
    let found = format!("{}; {path}", machine.cpu);
    match advice {
        "" => Check::ok("processor", found),
        advice => Check::note("processor", found, advice),
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
fn kernel_path() -> (&'static str, &'static str) {
    if std::is_x86_feature_detected!("avx512f") {
        ("AVX-512: 16 floats an instruction", "")
    } else if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
        ("AVX2 with FMA: 8 floats an instruction", "")
    } else {
        ("neither AVX2 nor FMA", SCALAR)
    }
}

#[cfg(target_arch = "aarch64")]
fn kernel_path() -> (&'static str, &'static str) {
    ("NEON: 4 floats an instruction", "")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
fn kernel_path() -> (&'static str, &'static str) {
    ("no kernels for this architecture", SCALAR)
}

#[cfg(not(target_arch = "aarch64"))]
const SCALAR: &str = "the scalar kernels run: the same results, ten times slower or more. In a virtual machine, let it pass the host's processor through";

pub(super) fn cores(machine: &Machine) -> Check {
    match machine.cores {
        1 => {
            let advice = "everything runs; comparisons of thread counts show nothing on one core";
            Check::note("cores", "1", advice)
        }
        cores => {
            let found = format!("{cores} may be used; lessons use all of them unless --threads says less");
            Check::ok("cores", found)
        }
    }
}

pub(super) fn memory(machine: &Machine) -> Check {
    let total = machine.memory_bytes;
    if total == 0 {
        let advice = "4 GiB are enough for the first lessons";
        return Check::note("memory", "not known on this system", advice);
    }
    let free = available(&std::fs::read_to_string("/proc/meminfo").unwrap_or_default());
    let free_text = free.map_or_else(String::new, |free| format!(", {} free", number::bytes(free)));
    let found = format!("{}{free_text}", number::bytes(total));
    if total < SMALL_MEMORY || free.is_some_and(|free| free < SMALL_MEMORY / 2) {
        let advice = "build with fewer jobs (`cargo run -j 1 -p lesson05`) and close other programs";
        return Check::note("memory", found, advice);
    }
    Check::ok("memory", found)
}

/// Bytes that Linux could give to a program now.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Linux's transparent huge pages. Weights are advised to use them.
pub(super) fn huge_pages() -> Check {
    const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    match std::fs::read_to_string(FILE) {
        Ok(text) => judge_pages(&text),
        Err(_) => Check::ok("huge pages", "not a setting of this system; nothing to do"),
    }
}

fn judge_pages(text: &str) -> Check {
    let bracketed = text.split(['[', ']']).nth(1);
    let chosen = bracketed.unwrap_or("unknown");
    match chosen {
        "madvise" | "always" => Check::ok("huge pages", format!("{chosen}: packed weights get them")),
        other => Check::note(
            "huge pages",
            format!("{other}: packed weights stay on small pages, and reading them is some percent slower"),
            "if you may: `echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled`",
        ),
    }
}

/// The space in bytes that the builds of the whole workbook take, about.
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

pub(super) fn disk(course: &Course) -> Check {
    let Some(free) = free_bytes(&course.root) else {
        let advice = "builds take up to 6 GiB";
        return Check::note("disk", "free space is not known on this system", advice);
    };
    let found = format!("{} free", number::bytes(free));
    if free < BUILD_BYTES {
        let advice = "all builds together take up to 6 GiB; `cargo clean` gives back what they took";
        return Check::note("disk", found, advice);
    }
    Check::ok("disk", found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn the_chosen_kind_of_pages_is_the_bracketed_one() {
        assert_eq!(judge_pages("always [madvise] never\n").status, Status::Ok);
        assert_eq!(judge_pages("[always] madvise never\n").status, Status::Ok);
        let never = judge_pages("always madvise [never]\n");
        assert_eq!(never.status, Status::Note);
        assert!(never.advice.contains("echo madvise"));
        assert_eq!(judge_pages("nonsense").status, Status::Note);
    }

    #[test]
    fn memory_is_read_in_kibibytes() {
        let text = "MemTotal:       16384 kB\nMemFree: 1 kB\nMemAvailable:    8192 kB\n";
        assert_eq!(available(text), Some(8 << 20));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
    }
}
