//! The manifests of the twins: a workspace of its own with the root's settings, and one package a lesson.
//!
//! The settings are the root's so that what both workspaces need is built once: profiles, versions, the lock file and
//! the target folder. For the lessons themselves that is not enough: cargo names what it builds by a package's place
//! within its workspace. So `lessons` and `shared` are links here, and `lessons/05-generation` is the same place in
//! both workspaces. (Where the system allows no links the lessons are built once more.) The lock file names the twins
//! from the start, so that cargo has nothing to resolve and needs no network.

use std::path::Path;

use toml::{Table, Value};

use super::{Owner, Twin, lock, path_from};
use crate::error::CourseError;
use crate::source;

pub(crate) const NOTE: &str = "# Written by `cargo course`; it is written anew by every command.\n";

/// Writes the manifests of the workspace and of this twin. `members` are the numbers of all lessons in the workspace.
pub fn write(twin: &Twin, members: &[String]) -> Result<(), CourseError> {
    let root = read(&twin.root.join("Cargo.toml"), twin)?;
    let package = read(&twin.lesson.join("Cargo.toml"), twin)?;
    // The folder that the lessons seem to lie in.
    let base = if has_links(&twin.root, &twin.work) {
        &twin.work
    } else {
        &twin.root
    };
    let work = workspace(twin, root, members, base);
    write_table(&twin.work.join("Cargo.toml"), &work)?;
    write_table(&twin.folder.join("Cargo.toml"), &self::package(twin, package, base))?;
    let root = source::read(&twin.root.join("Cargo.lock")).unwrap_or_default();
    lock::write(&twin.work, &with_twins(&root, twin.owner, members))?;
    let target = path_from(&twin.work, &twin.root.join("target"), &twin.root);
    let mut config = format!("{NOTE}[build]\ntarget-dir = \"{target}\"\n");
    let manifest = twin.root.join("Cargo.toml").display().to_string();
    // `cargo course` inside this workspace, which has no such package. Cargo splits an alias at blanks.
    if twin.owner == Owner::Learner && !manifest.contains(char::is_whitespace) {
        let alias = Value::String(format!("run --quiet --manifest-path {manifest} --package course --"));
        config += &format!("[alias]\ncourse = {alias}\n");
    }
    super::write(&twin.work.join(".cargo/config.toml"), &config)?;
    if has_costs(twin) {
        super::write(&twin.folder.join("examples/costs.rs"), &costs(twin))?;
    }
    Ok(())
}

/// Makes `lessons` and `shared` in the workspace `work` links to those of the root. Returns whether both stand. Without
/// them the lessons are built twice, and that is all.
pub(crate) fn has_links(root: &Path, work: &Path) -> bool {
    ["lessons", "shared"]
        .into_iter()
        .all(|name| has_link(root, work, name, &root.join(name)))
}

/// Makes `name` in a folder of the workbook a link to the folder `to`. Returns whether it stands, or there is nothing to
/// link to.
pub(crate) fn has_link(root: &Path, folder: &Path, name: &str, to: &Path) -> bool {
    let link = folder.join(name);
    let relative = path_from(folder, to, root);
    if !to.is_dir() {
        return true;
    }
    if std::fs::read_link(&link).is_ok_and(|found| found != Path::new(&relative)) {
        // From before a move of the folder.
        let _ = std::fs::remove_file(&link);
    }
    if std::fs::symlink_metadata(&link).is_err() {
        let made = std::fs::create_dir_all(folder);
        #[cfg(unix)]
        let made = made.and_then(|()| std::os::unix::fs::symlink(&relative, &link));
        #[cfg(windows)]
        let made = made.and_then(|()| std::os::windows::fs::symlink_dir(&relative, &link));
        // Each caller says what a missing link costs.
        let _ = made;
    }
    link.is_symlink()
}

/// Whether the lesson has tasks to compare costs with.
pub fn has_costs(twin: &Twin) -> bool {
    twin.lesson.join("src/costs.rs").is_file() || twin.lesson.join("src/costs/mod.rs").is_file()
}

/// The name of the library.
pub fn library(twin: &Twin) -> Result<String, CourseError> {
    let manifest = read(&twin.lesson.join("Cargo.toml"), twin)?;
    let name = manifest.get("lib").and_then(|lib| lib.get("name"));
    let package = format!("lesson{}", twin.number);
    Ok(name.and_then(Value::as_str).map_or(package, ToOwned::to_owned))
}

fn read(path: &Path, twin: &Twin) -> Result<Table, CourseError> {
    let text = source::read(path)?;
    text.parse().map_err(|error: toml::de::Error| {
        let line = error
            .span()
            .map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        CourseError::Twin {
            problem: format!("{}:{line}: {}", twin.shown(path), error.message()),
            action: "restore the file with git".to_owned(),
        }
    })
}

pub(crate) fn write_table(path: &Path, table: &Table) -> Result<(), CourseError> {
    let text = toml::to_string(table).expect("a manifest that was read can be written");
    super::write(path, &format!("{NOTE}{text}"))
}

/// The root's lock file with the twins in it.
fn with_twins(root: &str, owner: Owner, members: &[String]) -> String {
    let mut out = root.trim_end().to_owned();
    for number in members {
        let lesson = format!("lesson{number}");
        if let Some(block) = lock::renamed(root, &lesson, &owner.package(number), true) {
            out += &format!("\n\n{block}");
        }
    }
    out + "\n"
}

/// The root's manifest for the twins: other members, the same everything else.
fn workspace(twin: &Twin, mut root: Table, members: &[String], base: &Path) -> Table {
    let names = members.iter().map(|number| Value::String(format!("lesson{number}")));
    let names = Value::Array(names.collect());
    if let Some(Value::Table(workspace)) = root.get_mut("workspace") {
        workspace.insert("members".into(), names.clone());
        // Lessons that lie here by a link are members too.
        workspace.insert("default-members".into(), names);
        workspace.remove("exclude");
        if let Some(Value::Table(dependencies)) = workspace.get_mut("dependencies") {
            for (_, dependency) in dependencies.iter_mut() {
                move_path(dependency, base, &twin.work, &twin.root);
            }
        }
    }
    if let Some(Value::Table(profiles)) = root.get_mut("profile") {
        for (_, profile) in profiles.iter_mut() {
            if let Some(Value::Table(packages)) = profile.get_mut("package") {
                for_twins(twin, packages, members);
            }
        }
    }
    root
}

/// What a profile says about a lesson holds for its twin too; what it says about packages that the twins do not need is
/// left out, because cargo warns of it.
fn for_twins(twin: &Twin, packages: &mut Table, members: &[String]) {
    let named: Vec<String> = packages
        .keys()
        .filter(|name| *name != "*" && !name.starts_with("build"))
        .cloned()
        .collect();
    for name in named {
        let number = name.strip_prefix("lesson").unwrap_or_default().to_owned();
        let settings = packages[&name].clone();
        if members.contains(&number) {
            packages.insert(twin.owner.package(&number), settings);
        } else if !members.iter().any(|member| *member > number) || number.is_empty() {
            packages.remove(&name);
        }
    }
}

/// The lesson's manifest for its twin: its package and dependencies, and targets of the twin's own.
fn package(twin: &Twin, mut manifest: Table, base: &Path) -> Table {
    let lesson = format!("lesson{}", twin.number);
    for key in ["dependencies", "dev-dependencies"] {
        if let Some(Value::Table(dependencies)) = manifest.get_mut(key) {
            // A lesson that asks for itself, with a feature for its own tests: the twin has the reference below, under
            // one name.
            dependencies.retain(|name, dependency| package_of(name, dependency) != lesson);
            for (_, dependency) in dependencies.iter_mut() {
                move_path(dependency, &twin.lesson, &twin.folder, &twin.root);
            }
        }
    }
    let name = twin.package();
    let tracked = |file: &str| Value::String(path_from(&twin.folder, &twin.lesson.join(file), &twin.root));
    let inside = twin.lesson.strip_prefix(&twin.root).unwrap_or(&twin.lesson);
    let reference = Value::String(path_from(&twin.folder, &base.join(inside), &twin.root));
    // Examples, because cargo builds the binary for the sake of an integration test, and the story is the slowest part.
    let mut own = format!(
        "package = {{ name = \"{name}\", autobins = false, autotests = false, autoexamples = false, autobenches = false }}\n\
         features = {{ fallback = [] }}\n\
         lib = {{ path = \"src/lib.rs\", doctest = false, test = false }}\n\
         dependencies = {{ reference = {{ package = \"{lesson}\", path = {reference} }} }}\n\
         [[example]]\nname = \"{name}-exercises\"\npath = {}\ntest = true\n",
        tracked("tests/exercises.rs")
    );
    if has_costs(twin) {
        own += &format!(
            "[[example]]\nname = \"{name}-costs\"\npath = \"examples/costs.rs\"\ntest = true\nharness = false\n"
        );
    }
    if twin.owner == Owner::Learner && twin.lesson.join("src/main.rs").is_file() {
        own += &format!(
            "[[bin]]\nname = \"{name}\"\npath = {}\ntest = false\n",
            tracked("src/main.rs")
        );
    }
    for key in ["bin", "test", "example", "bench", "features"] {
        manifest.remove(key);
    }
    let own: Table = own.parse().expect("it was written above");
    for (key, value) in own {
        match (manifest.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => old.extend(new),
            (_, value) => drop(manifest.insert(key, value)),
        }
    }
    if let Some(Value::Table(package)) = manifest.get_mut("package") {
        package.remove("default-run");
    }
    manifest
}

/// The package that a dependency is, whatever the name that it has here.
pub(crate) fn package_of<'a>(name: &'a str, dependency: &'a Value) -> &'a str {
    let package = dependency.get("package").and_then(Value::as_str);
    package.unwrap_or(name)
}

/// A dependency's path, as seen from another folder.
pub(crate) fn move_path(dependency: &mut Value, from: &Path, to: &Path, root: &Path) {
    if let Some(Value::String(path)) = dependency.get_mut("path") {
        *path = path_from(to, &from.join(path.as_str()), root);
    }
}

/// The program that compares costs.
fn costs(twin: &Twin) -> String {
    let library = library(twin).unwrap_or_default();
    format!(
        "//! Written by `cargo course`: the costs of this lesson's exercises, yours against the reference's.\n\n\
         #[global_allocator]\n\
         static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();\n\n\
         fn main() -> std::process::ExitCode {{\n    \
         lab::cost::main(\"{}\", {library}::costs::tasks, reference::costs::tasks)\n}}\n",
        twin.number
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_names_the_twin_with_what_the_lesson_needs() {
        let lock = "version = 4\n\n[[package]]\nname = \"lesson05\"\nversion = \"0.1.0\"\ndependencies = [\n \"lab\",\n \"half\",\n]\n";
        let with = with_twins(lock, Owner::Learner, &["05".to_owned(), "07".to_owned()]);
        assert!(with.ends_with("[[package]]\nname = \"my-lesson05\"\nversion = \"0.1.0\"\ndependencies = [\n \"half\",\n \"lab\",\n \"lesson05\",\n]\n"), "{with}");
        assert!(!with.contains("lesson07"));
    }
}
