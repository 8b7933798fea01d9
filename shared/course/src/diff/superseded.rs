//! Which parts of earlier lessons a lesson takes the place of, read from its documentation:
//!
//! ```text
//! Supersedes [`generation::forward::forward`].
//! ```
//!
//! The sentence stands at a module, which then stands for the whole module that it names a part of, or at an item, which stands for the
//! item that it names. rustdoc checks that what is named exists.

use std::path::PathBuf;

use syn::Item;

use super::items;
use super::libraries::{self, path_of, resolve, rust_files};
use crate::error::CourseError;
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

/// What a lesson supersedes, in the order of its files.
///
/// # Errors
/// When a file can not be read, or names something that is not there.
pub fn of(course: &Course, number: &str) -> Result<Vec<Superseded>, CourseError> {
    let libraries = libraries::all(course)?;
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
                add(vec![items::of_type(block), method.sig.ident.to_string()], &method.attrs);
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
            let target = rest.strip_prefix('(').and_then(|rest| rest.split(')').next());
            let link = target.unwrap_or(text);
            let link = link.rsplit('@').next().unwrap_or(link);
            found.push(link.trim_end_matches("()").to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_one_thing_or_several() {
        assert_eq!(links("Loop. Supersedes [`a::b`]. It is like [`c`]."), ["a::b"]);
        assert_eq!(links("Supersedes [`b`](a::b) and [`fn@c()`]: the same"), ["a::b", "c"]);
        assert!(links("Nothing is [`superseded`]").is_empty());
    }
}
