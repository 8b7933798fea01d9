//! A lesson alone is built with the features of the whole workspace, so that going from one to the other compiles nothing anew.
//!
//! On Linux, where CI runs: other systems have crates of their own in the tree, and nothing there depends on the answer.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Packages from the registry, each with the sets of features that it is built with (two where macros and the program ask for
/// different ones).
type Features = BTreeMap<String, BTreeSet<String>>;

/// The features of this selection, as `cargo tree` resolves them. `None` where not every package of the workspace is on this
/// machine yet (`cargo test -p lab` in a fresh clone): tests use no network.
fn features(selection: &[&str]) -> Option<Features> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--color", "never"])
        .args(["--prefix", "none", "--format", "{p}|{f}"])
        .args(selection)
        .current_dir(lab::paths::workspace_root())
        .output()
        .expect("cargo runs");
    let problem = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && problem.contains("--offline") {
        return None;
    }
    assert!(output.status.success(), "{problem}");
    let text = String::from_utf8(output.stdout).unwrap();
    // A path is in the line of our own packages only; `(*)` marks one that was listed before.
    let lines = text
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|line| !line.contains('/'));
    let mut packages = Features::new();
    for (package, features) in lines.filter_map(|line| line.split_once('|')) {
        packages.entry(package.into()).or_default().insert(features.into());
    }
    Some(packages)
}

/// `lesson01`, `lesson02`, …, by the folders, and the workbook's own command.
fn packages() -> Vec<String> {
    let folders = std::fs::read_dir(lab::paths::workspace_root().join("lessons")).unwrap();
    let names = folders.map(|folder| folder.unwrap().file_name().to_string_lossy().into_owned());
    names
        .map(|name| format!("lesson{}", &name[..2]))
        .chain(["course".into()])
        .collect()
}

#[test]
fn a_lesson_alone_is_built_with_the_features_of_the_workspace() {
    let built = features(&["--workspace", "--edges", "normal,build"]);
    let tested = features(&["--workspace", "--edges", "normal,build,dev"]);
    let (Some(built), Some(tested)) = (built, tested) else {
        return;
    };
    let mut differing = BTreeSet::new();
    for package in packages() {
        let alone = features(&["--package", &package, "--edges", "normal,build"]).unwrap_or_default();
        for (name, sets) in &alone {
            for (whole, command) in [(&built, "build"), (&tested, "test")] {
                let of_whole = &whole[name];
                if !sets.is_subset(of_whole) {
                    differing.insert(format!(
                        "{name}: {package} alone {sets:?}, cargo {command} --workspace {of_whole:?}"
                    ));
                }
            }
        }
    }
    let differing: Vec<String> = differing.into_iter().collect();
    assert!(
        differing.is_empty(),
        "pin the features in shared/lab/Cargo.toml:\n{}",
        differing.join("\n")
    );
}
