//! Builds the book: mdBook as a library, with everything that this book adds to it and every check that it needs.
//!
//! `book-builder [--root FOLDER] [--out FOLDER]`; `cargo course book` calls it. It writes nothing outside `--out` and
//! needs no network. A problem is printed as `page:line: what; what to do`, and any problem makes the build fail.
//!
//! Read in this order: [`make`] (the whole way), [`fill`] and [`placeholder`] (the placeholders of a page), then what
//! they are filled with: [`source`], [`exercises`], [`pictures`], [`figures`], [`claims`], [`recorded`], [`workshops`],
//! [`maths`]; last [`typed`] and [`check`].

#![forbid(unsafe_code)]

mod check;
mod claims;
mod exercises;
mod figures;
mod fill;
mod finish;
mod html;
mod make;
mod maths;
#[path = "../../../shared/lab/src/out.rs"]
mod out;
mod page;
mod pictures;
mod placeholder;
mod problems;
mod recorded;
mod source;
mod svg;
#[cfg(test)]
mod tests;
mod typed;
mod workbook;
mod workshops;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: book-builder [--root FOLDER] [--out FOLDER]";

fn main() -> ExitCode {
    let (root, out) = match arguments(std::env::args().skip(1)) {
        Ok(folders) => folders,
        Err(text) => {
            out::note(&format!("{text}\n"));
            return ExitCode::from(2);
        }
    };
    match make::book(&root, &out) {
        Ok(made) => {
            let page = out.join("index.html");
            out::print(&format!(
                "{} pages, {} links checked: {}\n",
                made.pages,
                made.links,
                page.strip_prefix(&root).unwrap_or(&page).display()
            ));
            ExitCode::SUCCESS
        }
        Err(problems) => {
            for problem in &problems {
                out::note(&format!("{problem}\n"));
            }
            let plural = if problems.len() == 1 { "" } else { "s" };
            out::note(&format!("the book has {} problem{plural}\n", problems.len()));
            ExitCode::FAILURE
        }
    }
}

fn arguments(mut given: impl Iterator<Item = String>) -> Result<(PathBuf, PathBuf), String> {
    let (mut root, mut out) = (PathBuf::from("."), None);
    while let Some(flag) = given.next() {
        let value = given.next().map(PathBuf::from);
        match (flag.as_str(), value) {
            ("--root", Some(folder)) => root = folder,
            ("--out", Some(folder)) => out = Some(folder),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let root = std::path::absolute(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let out = out.unwrap_or_else(|| root.join("target/book"));
    let out = std::path::absolute(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    Ok((root, out))
}
