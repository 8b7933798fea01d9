//! The lessons' libraries, and where in them a path of Rust leads.

use std::path::{Path, PathBuf};

use super::items::{self, Names};
use super::superseded::Side;
use crate::error::CourseError;
use crate::lessons;
use crate::source;
use crate::tools::Course;

/// A lesson's library.
pub struct Library {
    /// The lesson's number.
    pub number: String,
    /// Its name in Rust.
    pub name: String,
    /// Its `src`, absolute.
    pub source: PathBuf,
}

/// The place that a path names, in the words of the file where it stands. With `whole` the module that holds it.
pub fn resolve(libraries: &[Library], names: &Names, path: &str, whole: bool) -> Option<Side> {
    let mut segments: Vec<&str> = path.split("::").collect();
    let is_library = |name: &str| libraries.iter().any(|library| library.name == name);
    if let Some(full) = names.get(segments[0]).filter(|_| !is_library(segments[0])) {
        segments.splice(..1, full.iter().map(String::as_str));
    }
    let library = libraries.iter().find(|library| library.name == segments[0])?;
    let rest = &segments[1..];
    let modules = (0..=rest.len())
        .rev()
        .find(|&count| source::module_file(&library.source, &rest[..count]).is_ok())
        .unwrap_or(0);
    let item: Vec<String> = rest[modules..].iter().map(|name| (*name).to_owned()).collect();
    let module = match modules {
        0 => library.source.join("lib.rs"),
        _ => library
            .source
            .join(source::module_file(&library.source, &rest[..modules]).ok()?),
    };
    // A type that the library shows at its root may be defined anywhere in it.
    let holds = |file: &PathBuf| {
        let text = source::read(file).unwrap_or_default();
        item.is_empty() || items::find(&text, &item).is_some()
    };
    let anywhere = rust_files(&library.source).ok()?;
    let file = std::iter::once(module).chain(anywhere).find(holds)?;
    let item = if whole { Vec::new() } else { item };
    Some(Side {
        lesson: library.number.clone(),
        path: path_of(library, &file, &item),
        file,
        item,
    })
}

/// `generation::model::Model::generate`.
pub fn path_of(library: &Library, file: &Path, item: &[String]) -> String {
    let relative = file.strip_prefix(&library.source).unwrap_or(file);
    let stem = relative.with_extension("");
    let modules = stem
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    let modules = modules.filter(|name| name != "mod" && name != "lib");
    let all = std::iter::once(library.name.clone()).chain(modules);
    all.chain(item.iter().cloned()).collect::<Vec<_>>().join("::")
}

/// The libraries of all lessons.
///
/// # Errors
/// When the lessons can not be read.
pub fn all(course: &Course) -> Result<Vec<Library>, CourseError> {
    let mut found = Vec::new();
    for folder in lessons::folders(course)? {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let manifest: toml::Table = text.parse().unwrap_or_default();
        let name = manifest.get("lib").and_then(|lib| lib.get("name")?.as_str());
        if let (Some(number), Some(name)) = (lessons::number_of(&folder), name) {
            found.push(Library {
                number,
                name: name.to_owned(),
                source: folder.join("src"),
            });
        }
    }
    Ok(found)
}

/// All Rust files below a folder, in order.
///
/// # Errors
/// When it can not be read.
pub fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, CourseError> {
    const ACTION: &str = "restore the lesson with git";
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(CourseError::io(folder, ACTION))? {
        let path = entry.map_err(CourseError::io(folder, ACTION))?.path();
        if path.is_dir() {
            found.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
