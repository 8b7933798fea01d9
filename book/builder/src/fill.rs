//! The placeholders of a page: `{{#name arguments}}`.
//!
//! | kind | placeholders | where |
//! |---|---|---|
//! | block | here, drawing, figure, chart, exercises, exercise, key, claims, claims-all, evaluation-table, workshop | alone on a line |
//! | word | minutes, minutes-of, verdict, evaluation, training, recorded, rows, given | anywhere |
//! | code | include | alone on a line inside a code fence |
//!
//! `\{{#name}}` stays as text. Everything else is an error with the page and the line.

use std::sync::Arc;

use mdbook_driver::book::{Book, BookItem, Chapter};
use mdbook_driver::errors::Result as BookResult;
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

use crate::maths;
use crate::placeholder::{self, Page};
use crate::problems::Problems;
use crate::typed;
use crate::workbook::Workbook;

/// The one preprocessor of this book.
pub struct Filler {
    /// The lessons that the pages tell about.
    pub workbook: Arc<Workbook>,
    /// Where problems go.
    pub problems: Problems,
}

impl Preprocessor for Filler {
    fn name(&self) -> &str {
        "workbook"
    }

    fn run(&self, _context: &PreprocessorContext, mut book: Book) -> BookResult<Book> {
        book.for_each_mut(|item| {
            if let BookItem::Chapter(chapter) = item {
                self.fill(chapter);
            }
        });
        Ok(book)
    }
}

impl Filler {
    fn fill(&self, chapter: &mut Chapter) {
        let Some(path) = chapter.source_path.clone() else {
            return;
        };
        let workbook = &self.workbook;
        let page = Page { workbook, path };
        let filled = expand(&chapter.content, &page, &self.problems);
        chapter.content = maths::render(&filled, &page.shown(), &self.problems);
    }
}

/// The text with all placeholders replaced.
pub fn expand(text: &str, page: &Page, problems: &Problems) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fence: Option<String> = None;
    for (i, line) in text.lines().enumerate() {
        let problem = |said: String| problems.add(format!("{}:{}: {said}", page.shown(), i + 1));
        track_fence(line, &mut fence);
        if fence.is_none()
            && let Some(said) = typed::figure(line)
        {
            problem(said);
        }
        match expand_line(line, page, fence.is_some()) {
            Ok(filled) => out += &filled,
            Err(said) => problem(said),
        }
        out.push('\n');
    }
    if fence.is_some() {
        problems.add(format!("{}: a code fence is not closed", page.shown()));
    }
    out
}

/// Remembers the fence that is open: its marks, such as three backticks.
fn track_fence(line: &str, fence: &mut Option<String>) {
    let trimmed = line.trim_start();
    let Some(mark) = trimmed.chars().next().filter(|c| matches!(c, '`' | '~')) else {
        return;
    };
    let marks: String = trimmed.chars().take_while(|c| *c == mark).collect();
    let rest = &trimmed[marks.len()..];
    match fence {
        None if marks.len() >= 3 && !rest.contains('`') => *fence = Some(marks),
        Some(open) if marks.starts_with(open.as_str()) && rest.trim().is_empty() => *fence = None,
        _ => {}
    }
}

fn expand_line(line: &str, page: &Page, in_code: bool) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("{{#") {
        let (before, from) = rest.split_at(at);
        if let Some(kept) = before.strip_suffix('\\') {
            out += kept;
            out += "{{#";
            rest = &from[3..];
            continue;
        }
        let end = from.find("}}").ok_or("a placeholder has no }}")?;
        let (name, arguments) = placeholder::parse(&from[3..end])?;
        let alone = before.is_empty() && out.is_empty() && from[end + 2..].trim().is_empty();
        out += before;
        out += &placeholder::one(&name, &arguments, page, in_code, alone)?;
        rest = &from[end + 2..];
    }
    Ok(out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> (String, Vec<String>) {
        let problems = Problems::default();
        let workbook = Workbook {
            root: std::path::PathBuf::from("/nowhere"),
            lessons: Default::default(),
        };
        let page = Page {
            workbook: &workbook,
            path: std::path::PathBuf::from("teaching/x.md"),
        };
        (expand(text, &page, &problems), problems.list())
    }

    #[track_caller]
    fn refused(text: &str, place: &str, word: &str) {
        let (_, problems) = filled(text);
        let said = problems.join("\n");
        assert!(
            said.starts_with(&format!("book/src/teaching/x.md:{place}: ")) && said.contains(word),
            "{said}"
        );
    }

    #[test]
    fn text_without_placeholders_stays() {
        let text = "# A\n\n```rust\nlet x = 1;\n```\n";
        assert_eq!(filled(text), (text.to_owned(), vec![]));
    }

    #[test]
    fn an_escaped_placeholder_is_shown() {
        assert_eq!(filled("`\\{{#key 05.1}}`\n"), ("`{{#key 05.1}}`\n".to_owned(), vec![]));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        refused("a\n{{#unknown 1}}\n", "2", "no placeholder");
        refused("{{#chart 05 \"x}}\n", "1", "not closed");
        refused("{{#chart 05\n", "1", "no }}");
        refused("\n\n{{#include x.rs:a}}\n", "3", "inside a code fence");
        refused("```rust\n{{#include x.rs:7}}\n```\n", "2", "line numbers");
        refused(
            "```rust\n{{#include ../../../lessons/x.rs:a}}\n```\n",
            "2",
            "lessons/x.rs",
        );
        refused("```rust\n{{#key 05.1}}\n```\n", "2", "inside a code fence");
        refused("{{#key 05.1}}\n", "1", "no lesson");
        refused("\nEight rows cost 1.3 times one row.\n", "2", "typed by hand");
    }

    #[test]
    fn an_open_fence_is_an_error() {
        let (_, problems) = filled("```rust\nlet x = 1;\n");
        assert_eq!(problems, ["book/src/teaching/x.md: a code fence is not closed"]);
    }
}
