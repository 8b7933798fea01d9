//! Two texts beside each other: in two columns where the terminal is wide enough for code, else one below the other.

use lab::term::{self, Tone};
use similar::{ChangeTag, DiffTag, TextDiff};

use crate::page::{Page, hard};

/// Columns from which on two columns are used: less would break most lines of code.
pub const WIDE: usize = 120;
/// Equal lines that are shown on each side of a change.
const CONTEXT: usize = 5;
/// What stands between two columns.
const BETWEEN: &str = " │ ";

/// Both texts, line by line, each in full.
pub fn compared(old: &str, new: &str, page: &Page) -> String {
    if old == new {
        return page.text("They are the same, line for line.");
    }
    let (old, new) = (format!("{old}\n"), format!("{new}\n"));
    let changes = TextDiff::from_lines(&old, &new);
    let lines = changes.iter_all_changes();
    lines
        .map(|change| one_line(change.tag(), change.value(), page))
        .collect()
}

/// Both texts without what they share, as far as it is not beside a change; in two columns on a page of [`WIDE`] or more.
pub fn changed(old: &str, new: &str, columns: usize, page: &Page) -> String {
    if old == new {
        return page.text("They are the same, line for line.");
    }
    let diff = TextDiff::from_lines(old, new);
    let mut out = String::new();
    for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if index > 0 {
            out += &page.paint(Tone::Dim, "  ⋮\n");
        }
        for operation in group {
            if columns < WIDE {
                for change in diff.iter_changes(operation) {
                    out += &one_line(change.tag(), change.value(), page);
                }
                continue;
            }
            let (tag, left, right) = operation.as_tag_tuple();
            let lines = |tag: ChangeTag| {
                let changes = diff.iter_changes(operation);
                let mine = changes.filter(move |change| change.tag() == tag || change.tag() == ChangeTag::Equal);
                mine.map(|change| change.value().trim_end().to_owned())
                    .collect::<Vec<_>>()
            };
            let (left, right) = (
                if left.is_empty() {
                    Vec::new()
                } else {
                    lines(ChangeTag::Delete)
                },
                if right.is_empty() {
                    Vec::new()
                } else {
                    lines(ChangeTag::Insert)
                },
            );
            out += &beside(&left, &right, tag != DiffTag::Equal, columns, page);
        }
    }
    out
}

fn one_line(tag: ChangeTag, line: &str, page: &Page) -> String {
    let (mark, tone) = match tag {
        ChangeTag::Delete => ("- ", Tone::Bad),
        ChangeTag::Insert => ("+ ", Tone::Good),
        ChangeTag::Equal => ("  ", Tone::Plain),
    };
    page.paint(tone, &hard(line.trim_end(), term::width(mark), mark))
}

/// Lines of both sides in two columns. A line that is too long goes on in the next row of its column.
fn beside(left: &[String], right: &[String], differs: bool, columns: usize, page: &Page) -> String {
    let room = (columns - term::width(BETWEEN)) / 2;
    let mut out = String::new();
    for index in 0..left.len().max(right.len()) {
        let cells = [left.get(index), right.get(index)].map(|line| cut(line, room));
        let rows = cells[0].len().max(cells[1].len());
        for row in 0..rows {
            let [a, b] = [&cells[0], &cells[1]].map(|cell| cell.get(row).map_or("", String::as_str));
            let gap = " ".repeat(room.saturating_sub(term::width(a)));
            let [a, b] = [(a, Tone::Bad), (b, Tone::Good)].map(|(cell, tone)| {
                let tone = if differs && !cell.is_empty() { tone } else { Tone::Plain };
                page.paint(tone, cell)
            });
            out += format!("{a}{gap}{BETWEEN}{b}").trim_end();
            out += "\n";
        }
    }
    out
}

fn cut(line: Option<&String>, room: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for character in line.map_or("", String::as_str).chars() {
        let row = rows.last_mut().expect("there is one");
        if term::width(row) + term::width(&character.to_string()) > room {
            rows.push(character.to_string());
        } else {
            row.push(character);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_stand_below_each_other_within_80_columns() {
        let long = "x".repeat(100);
        let text = compared(&format!("a\nb\n{long}"), &format!("a\nc\n{long}"), &Page::plain());
        assert!(text.starts_with("  a\n- b\n+ c\n  xxx"), "{text}");
        assert!(text.lines().all(|line| term::width(line) <= 80), "{text}");
        assert_eq!(
            compared("a", "a", &Page::plain()),
            "They are the same, line for line.\n"
        );
    }

    #[test]
    fn what_both_share_far_from_a_change_is_left_out() {
        let shared: String = (0..20).map(|line| format!("{line}\n")).collect();
        let (old, new) = (format!("a\n{shared}b\n"), format!("A\n{shared}B\n"));
        let text = changed(&old, &new, 80, &Page::plain());
        let parts: Vec<&str> = text.split("  ⋮\n").collect();
        assert_eq!(parts[0], "- a\n+ A\n  0\n  1\n  2\n  3\n  4\n");
        assert_eq!(parts[1], "  15\n  16\n  17\n  18\n  19\n- b\n+ B\n");
    }

    #[test]
    fn a_wide_page_has_two_columns() {
        let long = "y".repeat(70);
        let text = changed(&format!("a\nb\n{long}\n"), "a\nc\nd\ne\n", 121, &Page::plain());
        let lines: Vec<&str> = text.lines().collect();
        let row = |left: &str, right: &str| format!("{left:<59} │ {right}");
        assert_eq!(lines[0], row("a", "a"));
        assert_eq!(lines[1], row("b", "c"));
        assert_eq!(lines[2], row(&long[..59], "d"));
        assert_eq!(lines[3], row(&long[..11], "").trim_end());
        assert_eq!(lines[4], row("", "e"));
        assert!(lines.iter().all(|line| term::width(line) <= 121), "{text}");
    }
}
