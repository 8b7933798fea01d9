//! Two texts beside each other: in two columns where the terminal is wide enough for code, else one below the other.

use lab::term::{self, Tone};
use similar::{ChangeTag, DiffTag, TextDiff};

use crate::page::{Page, hard, pieces};

/// Columns from which on two columns are used: fewer would break most lines of code.
pub const WIDE: usize = 120;
/// What stands between two columns.
const BETWEEN: &str = " │ ";

/// The changed lines of both texts, each with `context` equal lines before and after it; in two columns on a page of
/// [`WIDE`] or more.
pub fn compared(old: &str, new: &str, context: usize, columns: usize, page: &Page) -> String {
    if old == new {
        return page.text("They are the same, line for line.");
    }
    let diff = TextDiff::from_lines(old, new);
    let mut out = String::new();
    for (index, group) in diff.grouped_ops(context).iter().enumerate() {
        if index > 0 {
            out += &page.paint(Tone::Dim, "  ⋮\n");
        }
        for operation in group {
            let changes = || diff.iter_changes(operation);
            if columns < WIDE {
                out.extend(changes().map(|change| one_line(change.tag(), change.value(), page)));
                continue;
            }
            let side = |other: ChangeTag| {
                let mine = changes().filter(move |change| change.tag() != other);
                mine.map(|change| change.value().trim_end()).collect::<Vec<_>>()
            };
            let (left, right) = (side(ChangeTag::Insert), side(ChangeTag::Delete));
            out += &beside(&left, &right, operation.tag() != DiffTag::Equal, columns, page);
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
fn beside(left: &[&str], right: &[&str], differs: bool, columns: usize, page: &Page) -> String {
    let room = (columns - term::width(BETWEEN)) / 2;
    let mut out = String::new();
    for index in 0..left.len().max(right.len()) {
        let [left, right] = [left, right].map(|side| pieces(side.get(index).unwrap_or(&""), room));
        for row in 0..left.len().max(right.len()) {
            let [a, b] = [&left, &right].map(|side| side.get(row).map_or("", String::as_str));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_stand_below_each_other_within_80_columns() {
        let long = "x".repeat(100);
        let text = compared(
            &format!("a\nb\n{long}\n"),
            &format!("a\nc\n{long}\n"),
            9,
            80,
            &Page::plain(),
        );
        assert!(text.starts_with("  a\n- b\n+ c\n  xxx"), "{text}");
        assert!(text.lines().all(|line| term::width(line) <= 80), "{text}");
        let same = compared("a", "a", 9, 80, &Page::plain());
        assert_eq!(same, "They are the same, line for line.\n");
    }

    #[test]
    fn what_both_share_far_from_a_change_is_left_out() {
        let shared: String = (0..20).map(|line| format!("{line}\n")).collect();
        let (old, new) = (format!("a\n{shared}b\n"), format!("A\n{shared}B\n"));
        let text = compared(&old, &new, 2, 80, &Page::plain());
        assert_eq!(text, "- a\n+ A\n  0\n  1\n  ⋮\n  18\n  19\n- b\n+ B\n");
    }

    #[test]
    fn a_wide_page_has_two_columns() {
        let long = "y".repeat(70);
        let text = compared(&format!("a\nb\n{long}\n"), "a\nc\nd\ne\n", 5, 121, &Page::plain());
        let row = |left: &str, right: &str| format!("{left:<59} │ {right}").trim_end().to_owned();
        let rows = [
            row("a", "a"),
            row("b", "c"),
            row(&long[..59], "d"),
            row(&long[..11], ""),
            row("", "e"),
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), rows);
    }
}
