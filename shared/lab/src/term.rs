//! The terminal: colours, widths, wrapping, bars, and output.

use std::ffi::OsString;
use std::io::IsTerminal;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a story. Longer lines are wrapped.
pub const WIDTH: usize = 80;

/// What a piece of text is, which decides its colour. Tones say nothing that the words do not say too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// No colour.
    Plain,
    /// A title, the number that matters.
    Strong,
    /// Keys, hints, rules.
    Dim,
    /// A question to the reader, a mark.
    Accent,
    /// Right, holds, fastest.
    Good,
    /// Holds in part.
    Warn,
    /// Wrong, does not hold.
    Bad,
}

impl Tone {
    /// `text` in this tone's colour, for a terminal. From the sixteen colours that every theme sets for itself, so that
    /// dark and light terminals are both readable.
    pub fn paint(self, text: &str) -> String {
        let code = match self {
            Tone::Plain => return text.to_string(),
            Tone::Strong => "1",
            Tone::Dim => "2",
            Tone::Accent => "36",
            Tone::Good => "32",
            Tone::Warn => "33",
            Tone::Bad => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Columns that `text` takes on a terminal: Chinese characters take two, colour codes none.
pub fn width(text: &str) -> usize {
    if !text.contains('\x1b') {
        return text.width();
    }
    let mut columns = 0;
    let mut rest = text;
    while let Some(start) = rest.find("\x1b[") {
        columns += rest[..start].width();
        let code = &rest[start + 2..];
        rest = code
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or("", |end| &code[end + 1..]);
    }
    columns + rest.width()
}

/// `text` with blanks up to `columns`; longer text is left as it is.
pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// `text`, cut with `…` where it is longer than `columns`.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_string();
    }
    let mut kept = String::new();
    for character in text.chars() {
        if width(&kept) + character.width().unwrap_or(0) + 1 > columns {
            break;
        }
        kept.push(character);
    }
    kept.trim_end().to_string() + "…"
}

/// Breaks `text` into lines of at most `columns`, at blanks, or between double-width characters (Chinese has no
/// blanks). Line ends stay; a line that begins with a blank is laid out by its author and is not touched.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        if line.starts_with(' ') || width(line) <= columns {
            lines.push(line.trim_end().to_string());
        } else {
            wrap_line(line, columns, &mut lines);
        }
    }
    lines
}

fn wrap_line(line: &str, columns: usize, lines: &mut Vec<String>) {
    let mut current = String::new();
    for word in breakable(line) {
        if !current.is_empty() && width(&current) + width(word.trim_end()) > columns {
            lines.push(std::mem::take(&mut current).trim_end().to_string());
        }
        current.push_str(word);
    }
    lines.push(current.trim_end().to_string());
}

/// The pieces between which a line may break: words with the blanks behind them, double-width characters one by one.
fn breakable(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let next = chars.peek().map(|&(_, next)| next);
        let after_blank = c == ' ' && next != Some(' ');
        // No line begins with a closing mark.
        let closing = next.is_some_and(|next| "，。、；：？！）」』”,.;:?!)".contains(next));
        let wide = c.width() == Some(2) || next.is_some_and(|next| next.width() == Some(2));
        if next.is_none() || after_blank || (wide && !closing) {
            pieces.push(&line[start..end]);
            start = end;
        }
    }
    pieces
}

/// A bar of `share` (0 to 1) of `columns`, in eighths of a column. Anything above zero shows at least a sliver.
pub fn bar(share: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !share.is_finite() || share <= 0.0 {
        return String::new();
    }
    let eighths = ((share.min(1.0) * columns as f64 * 8.0).round() as usize).max(1);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Whether colours are wanted on this stream: it is a terminal, `NO_COLOR` is unset or empty, `TERM` is not `dumb`.
pub fn wants_color(stream: &impl IsTerminal) -> bool {
    allows_color(
        stream.is_terminal(),
        std::env::var_os("NO_COLOR"),
        std::env::var_os("TERM"),
    )
}

fn allows_color(is_terminal: bool, no_color: Option<OsString>, term: Option<OsString>) -> bool {
    is_terminal && no_color.is_none_or(|value| value.is_empty()) && term.is_none_or(|value| value != "dumb")
}

pub use crate::out::{note, print};

/// `println!` over [`print()`]: a closed pipe ends the process quietly, any other failure with an error.
#[macro_export]
macro_rules! outln {
    () => { $crate::term::print("\n") };
    ($($arg:tt)*) => { $crate::term::print(&format!("{}\n", format_args!($($arg)*))) };
}

/// `print!` over [`print()`], flushed.
#[macro_export]
macro_rules! out {
    ($($arg:tt)*) => { $crate::term::print(&format!($($arg)*)) };
}

/// `eprintln!` over [`note`]: no panic where stderr is closed.
#[macro_export]
macro_rules! noteln {
    ($($arg:tt)*) => { $crate::term::note(&format!("{}\n", format_args!($($arg)*))) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_counts_columns_not_characters() {
        assert_eq!(width("ab"), 2);
        assert_eq!(width("你好"), 4);
        assert_eq!(width(&Tone::Good.paint("ok 你")), 5);
    }

    #[test]
    fn colours_are_for_terminals_that_did_not_refuse_them() {
        let set = |value: &str| Some(OsString::from(value));
        assert!(allows_color(true, None, set("xterm")) && allows_color(true, set(""), None));
        assert!(!allows_color(false, None, set("xterm")), "a pipe");
        assert!(!allows_color(true, set("1"), set("xterm")), "NO_COLOR");
        assert!(!allows_color(true, None, set("dumb")), "a dumb terminal");
    }

    #[test]
    fn long_names_are_cut_to_their_columns() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("longer", 5), "long…");
        assert_eq!(cut("一二三", 5), "一二…");
        assert_eq!(cut("a b", 2), "a…");
    }

    #[test]
    fn lines_break_at_blanks() {
        assert_eq!(wrap("the cat sat on the mat", 8), ["the cat", "sat on", "the mat"]);
        assert_eq!(wrap("one\n\ntwo", 8), ["one", "", "two"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
    }

    #[test]
    fn lines_that_begin_with_a_blank_are_kept() {
        assert_eq!(wrap("  a   table   row", 8), ["  a   table   row"]);
    }

    #[test]
    fn double_width_text_breaks_anywhere_but_before_a_closing_mark() {
        assert_eq!(wrap("一二三四五", 4), ["一二", "三四", "五"]);
        assert_eq!(wrap("一二，三四", 6), ["一二，", "三四"]);
        assert_eq!(wrap("一二三，四", 6), ["一二", "三，四"]);
    }

    #[test]
    fn bars_grow_in_eighths_and_never_vanish() {
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.28, 4), "█▏");
        assert_eq!(bar(1e-9, 4), "▏");
        assert_eq!(bar(0.0, 4), "");
        assert_eq!(bar(f64::NAN, 4), "");
        assert_eq!(bar(7.0, 4), "████");
    }
}
