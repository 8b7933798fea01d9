//! Lock files of workspaces that are made from this one: they name the new packages from the start, so that cargo has
//! nothing to resolve and needs no network.

use std::path::Path;

use crate::error::CourseError;
use crate::source;

/// Writes the lock file of a workspace. It is written only when its text is another than the last time, because cargo
/// leaves out of it what the workspace does not need.
pub fn write(workspace: &Path, lock: &str) -> Result<(), CourseError> {
    let mark = workspace.join(".cargo/lock-of-root");
    let path = workspace.join("Cargo.lock");
    let hash = source::hash(lock);
    if path.is_file() && std::fs::read_to_string(&mark).is_ok_and(|found| found.trim() == hash) {
        return Ok(());
    }
    super::write(&path, lock)?;
    super::write(&mark, &(hash + "\n"))
}

/// The entry of `package` under another name, with the package itself among its dependencies or without it. `None` when
/// the lock file has no such package.
pub fn renamed(lock: &str, package: &str, name: &str, needs_original: bool) -> Option<String> {
    let is_it = |block: &&str| block.contains(&format!("\nname = \"{package}\"\n"));
    let block = lock.split("\n\n").find(is_it)?.trim_end();
    let named = |name: &str| format!("name = \"{name}\"");
    let block = block.replacen(&named(package), &named(name), 1);
    let mut names: Vec<&str> = block
        .lines()
        .filter_map(|line| line.strip_prefix(" \"")?.strip_suffix("\","))
        .filter(|name| *name != package)
        .collect();
    if needs_original {
        names.push(package);
    }
    names.sort_unstable();
    let head: Vec<&str> = block
        .lines()
        .take_while(|line| !line.starts_with("dependencies"))
        .collect();
    let mut out = head.join("\n");
    if !names.is_empty() {
        let list: String = names.iter().map(|name| format!(" \"{name}\",\n")).collect();
        out += &format!("\ndependencies = [\n{list}]");
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"lesson05\"\nversion = \"0.1.0\"\ndependencies = [\n \"lab\",\n \"half\",\n \"lesson05\",\n]\n";

    #[test]
    fn an_entry_is_renamed_with_or_without_the_original() {
        let with = renamed(LOCK, "lesson05", "a", true).unwrap();
        assert!(
            with.contains("name = \"a\"") && with.ends_with("[\n \"half\",\n \"lab\",\n \"lesson05\",\n]"),
            "{with}"
        );
        let without = renamed(LOCK, "lesson05", "a", false).unwrap();
        assert!(without.ends_with("[\n \"half\",\n \"lab\",\n]"), "{without}");
        assert_eq!(renamed(LOCK, "lesson06", "a", true), None);
    }
}
