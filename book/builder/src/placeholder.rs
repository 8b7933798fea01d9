//! One placeholder: its name and arguments, the page that it stands on, and what it is replaced by.

use std::path::{Path, PathBuf};

use crate::workbook::{Workbook, normal};
use crate::{claims, exercises, figures, pictures, recorded, source, workshops};

/// The page that is being filled.
pub struct Page<'a> {
    /// The workbook.
    pub workbook: &'a Workbook,
    /// The page's path below `book/src`.
    pub path: PathBuf,
}

impl Page<'_> {
    /// As a reader would type it.
    pub fn shown(&self) -> String {
        format!("book/src/{}", self.path.display()).replace('\\', "/")
    }

    /// `../` as often as the page is deep: from the page to the root of the built book.
    fn to_root(&self) -> String {
        "../".repeat(self.path.components().count().saturating_sub(1))
    }

    /// A file named from the page's folder, and the name that it has from the workbook's root.
    fn file(&self, name: &str) -> (PathBuf, String) {
        let page = Path::new("book/src").join(&self.path);
        let inside = normal(&page.parent().unwrap_or(Path::new("")).join(name));
        let shown = inside.display().to_string().replace('\\', "/");
        (self.workbook.root.join(inside), shown)
    }
}

/// `chart 05 rows "a text"` into the name and its arguments.
pub fn parse(inside: &str) -> Result<(String, Vec<String>), String> {
    let mut words = Vec::new();
    let mut rest = inside.trim();
    while !rest.is_empty() {
        let (word, after) = if let Some(quoted) = rest.strip_prefix('"') {
            quoted.split_once('"').ok_or("a quotation mark is not closed")?
        } else {
            rest.split_once(char::is_whitespace).unwrap_or((rest, ""))
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    if words.is_empty() {
        return Err("a placeholder has no name".to_owned());
    }
    Ok((words.remove(0), words))
}

/// What replaces the placeholder. Blocks need a line of their own (`alone`), includes a code fence around them.
pub fn one(name: &str, arguments: &[String], page: &Page, in_code: bool, alone: bool) -> Result<String, String> {
    let given: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if name == "include" {
        return match (given.as_slice(), in_code && alone) {
            ([what], true) => include(what, page),
            ([_], false) => Err("an include stands alone on a line inside a code fence".to_owned()),
            _ => Err("an include names one file, and an anchor: path:anchor".to_owned()),
        };
    }
    if in_code {
        let shown = format!("{{{{#{name}}}}}");
        return Err(format!("{shown} inside a code fence; write \\{shown} to show it"));
    }
    let book = page.workbook;
    match (name, given.as_slice()) {
        ("minutes", [number]) => return workshops::minutes(book, number),
        ("minutes", [number, of]) => return Ok(workshops::minutes_of_kind(book, number, of)?.to_string()),
        ("minutes-of", parts @ [_, ..]) => return Ok(workshops::minutes_of(book, parts)?.to_string()),
        ("verdict", [number, id]) => return claims::verdict(book, number, id),
        ("evaluation", [key]) => return recorded::evaluation(book, key),
        ("training", [key]) => return recorded::training(book, key),
        ("recorded", [number, key]) => return recorded::lesson(book, number, key),
        ("given", [text]) => return Ok((*text).to_owned()),
        ("rows", [rows]) => return recorded::rows(book, rows, "cost"),
        ("rows", [rows, form]) => return recorded::rows(book, rows, form),
        _ => {}
    }
    let block = match (name, given.as_slice()) {
        ("here", []) => pictures::here(book, None),
        ("here", [number]) => pictures::here(book, Some(number)),
        ("drawing", [name, alt]) => pictures::drawing(book, name, alt),
        ("figure", [name, title]) => figures::figure(book, name, title, &page.to_root()),
        ("chart", [number, name, alt]) => pictures::chart(book, number, name, alt),
        ("exercises", [number]) => exercises::table(book, number),
        ("exercise", [id]) => exercises::heading(book, id),
        ("key", [id]) => exercises::key(book, id),
        ("claims", [number]) => claims::of_lesson(book, number),
        ("claims-all", []) => claims::all(book, &page.to_root()),
        ("evaluation-table", []) => recorded::evaluation_table(book),
        ("workshop", [id]) => workshops::plan(book, id),
        _ => Err(format!(
            "there is no placeholder {{{{#{name}}}}} with {} argument(s); book/README.md has the list",
            given.len()
        )),
    }?;
    if !alone {
        return Err(format!("{{{{#{name}}}}} stands alone on a line, at its beginning"));
    }
    Ok(format!("\n{}\n", block.trim_end()))
}

fn include(what: &str, page: &Page) -> Result<String, String> {
    let (name, anchor) = match what.split_once(':') {
        Some((name, anchor)) => (name, Some(anchor)),
        None => (what, None),
    };
    let (path, shown) = page.file(name);
    match anchor {
        Some(anchor) if anchor.is_empty() || anchor.starts_with(|c: char| c.is_ascii_digit() || c == ':') => {
            Err("include by an anchor: line numbers are wrong after the next change".to_owned())
        }
        Some(anchor) => source::region(&path, &shown, anchor),
        None => source::whole(&path, &shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_arguments_may_hold_blanks() {
        let (name, arguments) = parse("chart 05 rows \"two words\"").expect("it is well formed");
        assert_eq!(
            (name.as_str(), arguments),
            ("chart", vec!["05".into(), "rows".into(), "two words".into()])
        );
    }
}
