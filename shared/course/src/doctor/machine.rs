//! Processor, cores, memory, huge pages.

use super::Check;
use crate::tools::bytes_text;

/// What is needed to run the first lessons with the default model: the build, more than the model.
const SMALL_MEMORY: u64 = 4 << 30;

/// Which kernels this processor can run. The same list as lesson 02's run-time detection.
pub(super) fn processor() -> Check {
    let name = cpu_name();
    let (path, advice) = kernel_path();
    let found = format!("{name}{}{path}", if name.is_empty() { "" } else { "; " });
    if advice.is_empty() {
        Check::ok("processor", found)
    } else {
        Check::note("processor", found, advice)
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

fn cpu_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    if let Some((_, name)) = line.and_then(|line| line.split_once(':')) {
        return name.trim().to_owned();
    }
    sysctl("machdep.cpu.brand_string")
}

/// A value of macOS; empty elsewhere.
fn sysctl(key: &str) -> String {
    if !cfg!(target_os = "macos") {
        return String::new();
    }
    let output = std::process::Command::new("sysctl").args(["-n", key]).output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

pub(super) fn cores() -> Check {
    match lab::args::available_threads() {
        1 => Check::note(
            "cores",
            "1",
            "everything runs; comparisons of thread counts show nothing on one core",
        ),
        cores => Check::ok(
            "cores",
            format!("{cores} may be used; lessons use all of them unless --threads says less"),
        ),
    }
}

pub(super) fn memory() -> Check {
    let Some((total, free)) = memory_bytes() else {
        return Check::note(
            "memory",
            "not known on this system",
            "4 GiB are enough for the first lessons",
        );
    };
    let free_text = free.map_or_else(String::new, |free| format!(", {} free", bytes_text(free)));
    let found = format!("{}{free_text}", bytes_text(total));
    let low = total < SMALL_MEMORY || free.is_some_and(|free| free < SMALL_MEMORY / 2);
    if low {
        return Check::note(
            "memory",
            found,
            "build with fewer jobs (`cargo run -j 1 -p lesson05`) and close other programs",
        );
    }
    Check::ok("memory", found)
}

/// Total and, where known, available.
fn memory_bytes() -> Option<(u64, Option<u64>)> {
    if let Ok(text) = std::fs::read_to_string("/proc/meminfo") {
        return parse_meminfo(&text);
    }
    sysctl("hw.memsize").parse().ok().map(|total| (total, None))
}

fn parse_meminfo(text: &str) -> Option<(u64, Option<u64>)> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim()
            .strip_suffix("kB")?
            .trim()
            .parse::<u64>()
            .ok()
            .map(|kib| kib * 1024)
    };
    value("MemTotal:").map(|total| (total, value("MemAvailable:")))
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
    let chosen = text
        .split('[')
        .nth(1)
        .and_then(|rest| rest.split(']').next())
        .unwrap_or("unknown");
    match chosen {
        "madvise" | "always" => Check::ok("huge pages", format!("{chosen}: packed weights get them")),
        other => Check::note(
            "huge pages",
            format!("{other}: packed weights stay on small pages, and reading them is some percent slower"),
            "if you may: `echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled`",
        ),
    }
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
        assert_eq!(parse_meminfo(text), Some((16 << 20, Some(8 << 20))));
        assert_eq!(parse_meminfo("MemTotal: 1 kB\n"), Some((1024, None)));
        assert_eq!(parse_meminfo("nothing"), None);
    }
}
