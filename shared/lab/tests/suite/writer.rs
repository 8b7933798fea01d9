//! One writer for stdout: no program prints around it.

use std::path::{Path, PathBuf};

fn rust_files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|end| end == "rs") {
            out.push(path);
        }
    }
}

/// The folders of all sources of programs: the lessons, the shared crates, the benches, the book's builder.
fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("book/builder/src"), root.join("benches/benches")];
    for group in ["lessons", "shared"] {
        for package in std::fs::read_dir(root.join(group)).unwrap() {
            let package = package.unwrap().path();
            folders.extend(["src", "examples"].map(|name| package.join(name)));
        }
    }
    let mut files = Vec::new();
    folders
        .iter()
        .filter(|folder| folder.is_dir())
        .for_each(|folder| rust_files(folder, &mut files));
    files
}

/// `println!` panics where stdout is full or closed, `eprintln!` where stderr is.
#[test]
fn no_program_prints_around_the_writer() {
    let files = sources();
    assert!(files.len() > 200, "{} files: the folders have moved", files.len());
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim_start().starts_with("//"));
        for (number, line) in code {
            let prints = ["println!", "print!(", "eprintln!", "eprint!("].iter().any(|name| {
                line.match_indices(name).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '`' || c == '"')
                })
            });
            if prints {
                found.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(
        found.is_empty(),
        "use lab::outln! or lab::noteln!:\n{}",
        found.join("\n")
    );
}
