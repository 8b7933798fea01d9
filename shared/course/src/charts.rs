//! `cargo course charts`: the pictures that there are, and where.

use lab::term::Tone;

use crate::error::CourseError;
use crate::lessons;
use crate::page::Page;
use crate::results::{self, Origin};
use crate::tools::Course;

/// Recorded and latest charts of every lesson, with paths that can be opened from the root.
///
/// # Errors
/// When a folder can not be read.
pub fn render(course: &Course, page: &Page) -> Result<String, CourseError> {
    let mut out = String::new();
    let mut without = Vec::new();
    for folder in lessons::folders(course)? {
        let number = lessons::number_of(&folder).unwrap_or_default();
        let mut rows = String::new();
        for origin in [Origin::Recorded, Origin::Latest] {
            for chart in results::charts(course, &folder, origin)? {
                // Not wrapped: a path is for copying.
                rows += &format!("  {:<10}{}\n", origin.word(), course.shown(&chart));
            }
        }
        if rows.is_empty() {
            without.push(number);
            continue;
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        out += &page.paint(Tone::Strong, &format!("{name}\n"));
        out += &rows;
    }
    if out.is_empty() {
        out += "No charts yet.\n";
    }
    if let Some(first) = without.first() {
        let text = format!(
            "No charts of {}. A run draws them: cargo course run {first} --no-pause",
            without.join(", ")
        );
        out += &page.paint(Tone::Dim, &page.text(&text));
    }
    Ok(out)
}
