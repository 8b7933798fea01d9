//! The safetensors files of a folder: a single file, or shards with or without an index.

use crate::bytes::{read_text, unreadable};
use crate::error::{LoadError, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Name of a single file.
pub const SINGLE_FILE: &str = "model.safetensors";
/// Name of the index: a map from tensors to shards.
const INDEX_FILE: &str = "model.safetensors.index.json";

/// Tensor names with file names, from an index; empty without one.
pub(crate) type Index = BTreeMap<String, String>;

/// The files to open, in order, and the index if there is one: `model.safetensors`, else the files of the index, else
/// every `.safetensors` file of the folder.
pub(crate) fn shard_files(folder: &Path) -> Result<(Vec<String>, Index)> {
    const ADVICE: &str = "check the path, or fetch the model again";
    if folder.join(SINGLE_FILE).is_file() {
        return Ok((vec![SINGLE_FILE.to_string()], Index::new()));
    }
    let index_path = folder.join(INDEX_FILE);
    if index_path.is_file() {
        let index = parse_index(&read_text(&index_path, ADVICE)?)?;
        let files: BTreeSet<String> = index.values().cloned().collect();
        return Ok((files.into_iter().collect(), index));
    }
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error, ADVICE))?;
    let mut files: Vec<String> = entries
        .filter_map(|entry| Some(PathBuf::from(entry.ok()?.file_name())))
        .filter(|file| file.extension().is_some_and(|end| end == "safetensors"))
        .map(|file| file.display().to_string())
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(LoadError::Unreadable {
            path: folder.display().to_string(),
            reason: "it has no .safetensors file".into(),
            advice: "check the path; for GGUF, give the .gguf file itself",
        });
    }
    Ok((files, Index::new()))
}

/// Reads the `weight_map` of an index.
fn parse_index(text: &str) -> Result<Index> {
    #[derive(serde::Deserialize)]
    struct IndexFile {
        weight_map: Index,
    }
    let bad = |place: &str, expected: &str, found: String| LoadError::BadHeader {
        file: INDEX_FILE.into(),
        place: place.into(),
        expected: expected.into(),
        found,
    };
    let index: IndexFile = serde_json::from_str(text)
        .map_err(|error| bad("weight_map", "a map from tensors to files", error.to_string()))?;
    // Only file names, no paths: a downloaded index must not reach out of its folder.
    for (name, file) in &index.weight_map {
        let plain = Path::new(file).file_name().is_some_and(|name| name == file.as_str());
        if !plain {
            return Err(bad(name, "the name of a file in the folder", format!("`{file}`")));
        }
    }
    Ok(index.weight_map)
}
