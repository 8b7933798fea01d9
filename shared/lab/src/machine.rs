//! The machine that a figure was measured on. Figures of two machines can not be compared without it.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// The machine that a run ran on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model name of the processor.
    pub cpu: String,
    /// Cores that the process may use.
    pub cores: usize,
    /// Main memory in bytes.
    pub memory_bytes: u64,
    /// Operating system and architecture: `linux x86_64`.
    pub system: String,
    /// `rustc --version` of the build.
    pub rustc: String,
    /// Short git revision, `-dirty` appended when tracked files differ from it (recorded results aside); `unknown`
    /// outside a repository.
    pub revision: String,
}

impl Machine {
    /// This machine, now. Starts `git` twice; what can not be found is `unknown` or 0, never an error.
    pub fn detect() -> Self {
        Self {
            cpu: cpu().unwrap_or_else(|| "unknown".into()),
            cores: crate::args::available_threads(),
            memory_bytes: memory_bytes().unwrap_or(0),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            rustc: env!("LAB_RUSTC").into(),
            revision: revision(&crate::paths::workspace_root()).unwrap_or_else(|| "unknown".into()),
        }
    }

    /// One line for a chart's note or the end of a story: processor, cores, memory.
    pub fn summary(&self) -> String {
        let memory = crate::number::bytes(self.memory_bytes);
        format!("{}, {} cores, {memory}", self.cpu, self.cores)
    }
}

fn cpu() -> Option<String> {
    match std::env::consts::OS {
        "macos" => output("sysctl", &["-n", "machdep.cpu.brand_string"]),
        "windows" => std::env::var("PROCESSOR_IDENTIFIER").ok(),
        _ => field(&std::fs::read_to_string("/proc/cpuinfo").ok()?, "model name"),
    }
}

fn memory_bytes() -> Option<u64> {
    match std::env::consts::OS {
        "macos" => output("sysctl", &["-n", "hw.memsize"])?.parse().ok(),
        _ => {
            let kib = field(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal")?;
            Some(kib.trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
        }
    }
}

/// The value behind `key :` in a file of the kernel's.
fn field(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    let value = line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" ");
    (!value.is_empty()).then_some(value)
}

fn revision(root: &Path) -> Option<String> {
    let root = root.to_str()?;
    let revision = output("git", &["-C", root, "rev-parse", "--short=10", "HEAD"])?;
    // A recording changes the results that it writes; that does not make the code another one.
    let only = [
        "-C",
        root,
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ".",
        ":(exclude,glob)lessons/*/results/**",
    ];
    let dirty = output("git", &only).is_none_or(|changes| !changes.is_empty());
    Some(if dirty { format!("{revision}-dirty") } else { revision })
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_name() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some  CPU @ 2.0GHz\n";
        assert_eq!(field(cpuinfo, "model name").as_deref(), Some("Some CPU @ 2.0GHz"));
        assert_eq!(field(cpuinfo, "MemTotal"), None);
    }

    #[test]
    fn a_machine_can_always_be_told() {
        let machine = Machine::detect();
        assert!(machine.cores >= 1);
        assert!(!machine.cpu.is_empty() && !machine.revision.is_empty());
        assert!(machine.rustc.starts_with("rustc"), "{}", machine.rustc);
    }

    #[test]
    fn a_folder_outside_a_repository_has_no_revision() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(revision(folder.path()), None);
    }
}
