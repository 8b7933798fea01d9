//! Paths: the workspace, its data, a lesson's folder, the folder for charts.

use std::path::{Path, PathBuf};

use crate::args::CommonArgs;

/// The root of the workspace: the nearest folder above the current one that holds the workbook; otherwise the folder
/// that this program was built in; otherwise the current folder.
///
/// The current folder comes first because a workbook may be copied with its `target/`: its programs name the original.
pub fn workspace_root() -> PathBuf {
    let current = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let above = current.ancestors().map(Path::to_path_buf);
    above
        .chain([built_in_root()])
        .find(|folder| is_root(folder))
        .unwrap_or(current)
}

/// The workbook that this program was built in.
pub fn built_in_root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    // In `work/` this crate is reached by a link.
    let real = crate_folder
        .canonicalize()
        .unwrap_or_else(|_| crate_folder.to_path_buf());
    real.ancestors().nth(2).unwrap_or(&real).to_path_buf()
}

/// `work/` has links to `lessons` and `shared`, and no data.
fn is_root(folder: &Path) -> bool {
    folder.join("lessons").is_dir() && folder.join("data").is_dir() && folder.join("Cargo.toml").is_file()
}

/// `data/`: the default checkpoint, its tokenizer, the corpora, the manifest.
pub fn data_dir() -> PathBuf {
    workspace_root().join("data")
}

/// `work/`: the learner's own files, git-ignored.
pub fn work_dir() -> PathBuf {
    workspace_root().join("work")
}

/// The folder of lesson `number` ("05" gives `lessons/05-generation`).
///
/// Falls back to `lessons/05` when there is no such lesson; nothing is created.
pub fn lesson_dir(number: &str) -> PathBuf {
    let lessons = workspace_root().join("lessons");
    let prefix = format!("{number}-");
    let found = std::fs::read_dir(&lessons).ok().and_then(|entries| {
        entries
            .flatten()
            .find(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
    });
    found.map_or_else(|| lessons.join(number), |entry| entry.path())
}

/// Where lesson `number` ("05") writes charts and figures: `--out`, or the lesson's `results/` with `--record`, or
/// `target/course/lesson05`. Nothing is created here.
pub fn out_dir(number: &str, args: &CommonArgs) -> PathBuf {
    match &args.out {
        Some(folder) => folder.clone(),
        None if args.record => lesson_dir(number).join("results"),
        None => workspace_root().join("target/course").join(format!("lesson{number}")),
    }
}

/// `path` as a reader would type it: relative to the workspace where it lies inside, with `/` on every system.
pub fn shown(path: &Path) -> String {
    let root = workspace_root();
    path.strip_prefix(&root)
        .unwrap_or(path)
        .display()
        .to_string()
        .replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_this_crate() {
        assert!(workspace_root().join("shared/lab/Cargo.toml").is_file());
    }

    #[test]
    fn charts_go_where_the_flags_say() {
        let root = workspace_root();
        let plain = CommonArgs::default();
        assert_eq!(out_dir("05", &plain), root.join("target/course/lesson05"));
        let record = CommonArgs {
            record: true,
            ..CommonArgs::default()
        };
        assert_eq!(out_dir("05", &record), root.join("lessons/05-generation/results"));
        let out = CommonArgs {
            record: true,
            out: Some("/tmp/here".into()),
            ..CommonArgs::default()
        };
        assert_eq!(out_dir("05", &out), PathBuf::from("/tmp/here"));
    }

    #[test]
    fn a_lesson_is_found_by_its_number() {
        assert_eq!(lesson_dir("02"), workspace_root().join("lessons/02-layout"));
        assert_eq!(lesson_dir("99"), workspace_root().join("lessons/99"));
    }

    #[test]
    fn paths_inside_are_shown_short() {
        assert_eq!(shown(&workspace_root().join("data/stories")), "data/stories");
        assert_eq!(shown(Path::new("/elsewhere/x")), "/elsewhere/x");
    }
}
