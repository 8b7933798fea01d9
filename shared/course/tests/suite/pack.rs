//! `pack`: tracked files, vendored crates, a configuration that stays inside. The stand-in for cargo writes one crate;
//! a real kit is made and built by `tests/kit.rs`.

use std::fs::File;
use std::process::Command;

use course::pack;
use flate2::read::GzDecoder;

use crate::tree::Tree;
use crate::workbook::workbook;

/// Stands for `cargo vendor --locked --versioned-dirs [--sync MANIFEST] FOLDER`.
const VENDOR: &str = r#"
echo "$@" >> fake/calls
for folder in "$@"; do :; done
if [ -f fake/offline ]; then echo "error: failed to download" >&2; exit 101; fi
mkdir -p "$folder/one-1.0.0" && echo x > "$folder/one-1.0.0/lib.rs"
printf '[source.crates-io]\nreplace-with = "vendored-sources"\n\n[source.vendored-sources]\ndirectory = "%s"\n' "$folder"
"#;

fn repository() -> Tree {
    let tree = workbook();
    tree.write("fake/cargo.sh", VENDOR);
    tree.write(".gitignore", "/fake\n/work\n/out\n");
    tree.write(".cargo/config.toml", "[alias]\ncourse = \"run\"\n");
    tree.write("work/secret.txt", "not for the kit");
    let git = |words: &[&str]| {
        let done = Command::new("git")
            .current_dir(&tree.course.root)
            .args(words)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    tree
}

#[test]
fn a_kit_holds_tracked_files_crates_and_how_to_use_them() {
    let tree = repository();
    tree.write("book/builder/Cargo.toml", "");
    let out = tree.path("out/kit.tar.gz");
    let mut said = Vec::new();
    let kit = pack::pack(&tree.course, &out, false, &mut |line| said.push(line.to_owned())).unwrap();
    assert_eq!(kit.path, out);
    assert!(said.len() >= 2);
    assert!(tree.calls()[0].contains("--locked --versioned-dirs --sync book/builder/Cargo.toml"));

    let unpacked = tree.path("out/elsewhere");
    tar::Archive::new(GzDecoder::new(File::open(&out).unwrap()))
        .unpack(&unpacked)
        .unwrap();
    let root = unpacked.join(pack::NAME);
    let text = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(text("lessons/05-generation/course.toml").contains("RMSNorm"));
    assert_eq!(text("vendor/one-1.0.0/lib.rs"), "x\n");
    let configuration = text(".cargo/config.toml");
    assert!(configuration.starts_with("[alias]"), "{configuration}");
    assert!(
        configuration.contains("directory = \"vendor\"") && configuration.contains("offline = true"),
        "{configuration}"
    );
    configuration.parse::<toml::Table>().unwrap();
    assert!(text(pack::ROOM).contains("cargo course doctor"));
    assert!(!root.join("work").exists() && !root.join("fake").exists());
}

#[test]
fn what_stands_there_already_is_never_written_over() {
    let tree = repository();
    let out = tree.write("out/kit", "precious");
    let error = pack::pack(&tree.course, &out, true, &mut |_| {})
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("out/kit: exists already"), "{error}");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "precious");
}

#[test]
fn half_a_kit_is_never_left_behind() {
    let tree = repository();
    tree.write("fake/offline", "");
    let error = pack::pack(&tree.course, &tree.path("out/kit"), true, &mut |_| {})
        .unwrap_err()
        .to_string();
    assert!(error.contains("failed to download"), "{error}");
    let left: Vec<_> = std::fs::read_dir(tree.path("out")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
