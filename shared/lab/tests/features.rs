//! A lesson alone is built with the features of the whole workspace, so that going from one to the other compiles nothing anew.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Packages from the registry with their features, as `cargo tree` resolves them for this selection.
fn features(selection: &[&str]) -> BTreeMap<String, String> {
    let tree = [
        "tree",
        "--offline",
        "--locked",
        "--color",
        "never",
        "--prefix",
        "none",
        "--format",
        "{p}|{f}",
    ];
    let output = Command::new(env!("CARGO"))
        .args(tree)
        .args(selection)
        .current_dir(lab::paths::workspace_root())
        .output();
    let output = output.expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|line| !line.contains('/'));
    let mut packages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (package, features) in lines.filter_map(|line| line.split_once('|')) {
        packages
            .entry(package.replace(" (proc-macro)", ""))
            .or_default()
            .insert(features.to_string());
    }
    // A crate that is built twice, for the machine and for macros, is two entries here and one line each.
    packages
        .into_iter()
        .map(|(package, features)| (package, Vec::from_iter(features).join(" and ")))
        .collect()
}

#[test]
fn a_lesson_alone_is_built_with_the_features_of_the_workspace() {
    let built = features(&["--workspace", "--edges", "normal,build"]);
    let tested = features(&["--workspace", "--edges", "normal,build,dev"]);
    let mut differing = BTreeSet::new();
    for package in [
        "lesson01", "lesson02", "lesson03", "lesson04", "lesson05", "course",
    ] {
        for (name, alone) in features(&["--package", package, "--edges", "normal,build"]) {
            for (whole, of) in [(&built, "build"), (&tested, "test")] {
                if whole.get(&name).is_some_and(|whole| *whole != alone) {
                    differing.insert(format!(
                        "{name} for {package}: [{alone}], but cargo {of} --workspace asks for [{}]",
                        whole[&name]
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
