//! Which parts of earlier lessons a lesson takes the place of, read from its documentation: "Supersedes [`generation::forward::forward`]".
//!
//! The sentence stands at a module, which then stands for the whole module that it names a part of, or at an item, which stands for the
//! item that it names. rustdoc checks that what is named exists.

use std::path::{Path, PathBuf};

use syn::Item;

use super::items::{self, Found, Names};
use crate::error::CourseError;
use crate::lessons;
use crate::source;
use crate::tools::Course;

/// One side of a comparison: a place in a lesson.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The lesson: `05`.
    pub lesson: String,
    /// As Rust names it: `generation::forward`.
    pub path: String,
    /// The file, absolute.
    pub file: PathBuf,
    /// The item in it, `["Model", "generate"]`; empty for the whole file.
    pub item: Vec<String>,
}

/// Something and what took its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superseded {
    /// In an earlier lesson.
    pub old: Side,
    /// In this one.
    pub new: Side,
}

/// A lesson's library.
struct Library {
    number: String,
    name: String,
    source: PathBuf,
}

/// What a lesson supersedes, in the order of its files.
///
/// # Errors
/// When a file can not be read, or names something that is not there.
pub fn of(course: &Course, number: &str) -> Result<Vec<Superseded>, CourseError> {
    let libraries = libraries(course)?;
    let mine = libraries.iter().find(|library| library.number == number);
    let Some(mine) = mine else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for file in rust_files(&mine.source)? {
        let text = source::read(&file)?;
        if !text.contains("Supersedes") {
            continue;
        }
        let shown = course.shown(&file);
        let parsed = syn::parse_file(&text).map_err(|error| CourseError::Marks {
            path: format!("{shown}:{}", error.span().start().line),
            problem: format!("this is no Rust: {error}"),
        })?;
        let names = items::names(&parsed.items);
        for (item, link) in sentences(&parsed) {
            let old = resolve(&libraries, &names, &link, item.is_empty());
            let old = old.ok_or_else(|| CourseError::Marks {
                path: shown.clone(),
                problem: format!("it supersedes {link}, which no lesson has"),
            })?;
            let path = path_of(mine, &file, &item);
            let new = Side {
                lesson: mine.number.clone(),
                path,
                file: file.clone(),
                item,
            };
            found.push(Superseded { old, new });
        }
    }
    Ok(found)
}

/// What stands at a module or an item: its names, and each thing that it supersedes.
fn sentences(file: &syn::File) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    let mut add = |names: Vec<String>, attributes: &[syn::Attribute]| {
        for link in links(&items::prose(attributes)) {
            found.push((names.clone(), link));
        }
    };
    add(Vec::new(), &file.attrs);
    for item in &file.items {
        if let Some(name) = items::name(item) {
            add(vec![name], items::attributes(item));
        }
        if let Item::Impl(block) = item {
            for method in items::methods(block) {
                add(
                    vec![items::of_type(block), method.sig.ident.to_string()],
                    &method.attrs,
                );
            }
        }
    }
    found
}

/// The links of each sentence that begins with "Supersedes": the target where there is one, else the text between the backticks.
fn links(prose: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in prose.split("Supersedes ").skip(1) {
        let end = part.find(". ").unwrap_or(part.len());
        let mut rest = &part[..end];
        while let Some(start) = rest.find("[`") {
            let Some(length) = rest[start..].find("`]") else {
                break;
            };
            let text = &rest[start + 2..start + length];
            rest = &rest[start + length + 2..];
            let target = rest
                .strip_prefix('(')
                .and_then(|rest| rest.split(')').next());
            let link = target.unwrap_or(text);
            let link = link.rsplit('@').next().unwrap_or(link);
            found.push(link.trim_end_matches("()").to_owned());
        }
    }
    found
}

/// The place that a path names, in the words of the file where it stands. With `whole` the module that holds it.
fn resolve(libraries: &[Library], names: &Names, path: &str, whole: bool) -> Option<Side> {
    let mut segments: Vec<&str> = path.split("::").collect();
    let is_library = |name: &str| libraries.iter().any(|library| library.name == name);
    if let Some(full) = names.get(segments[0]).filter(|_| !is_library(segments[0])) {
        segments.splice(..1, full.iter().map(String::as_str));
    }
    let library = libraries
        .iter()
        .find(|library| library.name == segments[0])?;
    let rest = &segments[1..];
    let modules = (0..=rest.len())
        .rev()
        .find(|&count| source::module_file(&library.source, &rest[..count]).is_ok())
        .unwrap_or(0);
    let item: Vec<String> = rest[modules..]
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    let module = match modules {
        0 => library.source.join("lib.rs"),
        _ => library
            .source
            .join(source::module_file(&library.source, &rest[..modules]).ok()?),
    };
    // A type that the library shows at its root may be defined anywhere in it.
    let holds = |file: &PathBuf| {
        let text = source::read(file).unwrap_or_default();
        item.is_empty() || items::find(&text, &item).is_some_and(|found: Found| !found.is_empty())
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
fn path_of(library: &Library, file: &Path, item: &[String]) -> String {
    let relative = file.strip_prefix(&library.source).unwrap_or(file);
    let stem = relative.with_extension("");
    let modules = stem
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    let modules = modules.filter(|name| name != "mod" && name != "lib");
    let all = std::iter::once(library.name.clone()).chain(modules);
    all.chain(item.iter().cloned())
        .collect::<Vec<_>>()
        .join("::")
}

fn libraries(course: &Course) -> Result<Vec<Library>, CourseError> {
    let mut found = Vec::new();
    for folder in lessons::folders(course)? {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let manifest: toml::Table = text.parse().unwrap_or_default();
        let name = manifest
            .get("lib")
            .and_then(|lib| lib.get("name")?.as_str());
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
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, CourseError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_one_thing_or_several() {
        assert_eq!(
            links("Loop. Supersedes [`a::b`]. It is like [`c`]."),
            ["a::b"]
        );
        assert_eq!(
            links("Supersedes [`b`](a::b) and [`fn@c()`]: the same"),
            ["a::b", "c"]
        );
        assert!(links("Nothing is [`superseded`]").is_empty());
    }
}
