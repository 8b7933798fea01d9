//! Text from outside in a message: names of files, tensors and keys, values, messages of other libraries.
//!
//! A name may hold line ends, terminal codes or five million characters. In a message, control characters are escaped,
//! and of a long text only both ends remain.

use std::fmt;

/// Most characters of a foreign text that a message shows.
pub const MOST_CHARS: usize = 240;
/// Characters that remain at each end of a longer text.
const END_CHARS: usize = 100;

/// A text from outside, made fit for a message when it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foreign(pub String);

impl<T: Into<String>> From<T> for Foreign {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        shown(&self.0, f)
    }
}

/// `text` with its control characters escaped, not cut: for a whole message.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let _ = escape(text, &mut out);
    out
}

/// `text` as a message shows it; see the module.
pub fn foreign(text: &str) -> String {
    Foreign::from(text).to_string()
}

fn shown(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // A text of at most so many bytes has at most so many characters, so ordinary names are not counted.
    if text.len() <= MOST_CHARS || text.chars().nth(MOST_CHARS).is_none() {
        return escape(text, f);
    }
    let cut = |nth: Option<(usize, char)>| nth.map_or(0, |(at, _)| at);
    let (head, tail) = (
        cut(text.char_indices().nth(END_CHARS)),
        cut(text.char_indices().nth_back(END_CHARS - 1)),
    );
    escape(&text[..head], f)?;
    write!(f, "… ({} bytes) …", text.len())?;
    escape(&text[tail..], f)
}

fn escape(text: &str, f: &mut impl fmt::Write) -> fmt::Result {
    for c in text.chars() {
        // Quotation marks and backslashes are harmless; a backslash doubled would make a path another one.
        match c {
            '"' | '\'' | '\\' => write!(f, "{c}")?,
            c => write!(f, "{}", c.escape_debug())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for text in [
            "model.layers.0.mlp.up_proj.weight",
            "C:\\models\\a b",
            "`你好`, \"x\"",
            "",
        ] {
            assert_eq!(foreign(text), text);
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(foreign("a\x1b[31m\r\nb\0\u{202e}c"), "a\\u{1b}[31m\\r\\nb\\0\\u{202e}c");
    }

    #[test]
    fn of_a_long_text_both_ends_remain() {
        let text = format!("begin{}end", "你".repeat(1_000_000));
        let shown = foreign(&text);
        assert!(shown.starts_with("begin你") && shown.ends_with("你end"), "{shown}");
        assert!(shown.contains("… (3000008 bytes) …") && shown.chars().count() < MOST_CHARS);
        assert_eq!(foreign(&"x".repeat(MOST_CHARS)), "x".repeat(MOST_CHARS));
    }
}
