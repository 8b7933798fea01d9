//! Text for a terminal of 80 columns, with colours only where they are wanted.

use lab::term::{self, Tone};

/// How to lay text out.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Whether to colour.
    pub has_color: bool,
}

impl Page {
    /// For stdout: colours on a terminal, none on a pipe.
    pub fn of_stdout() -> Self {
        Self {
            has_color: term::wants_color(&std::io::stdout()),
        }
    }

    /// For stderr.
    pub fn of_stderr() -> Self {
        Self {
            has_color: term::wants_color(&std::io::stderr()),
        }
    }

    /// No colours.
    pub fn plain() -> Self {
        Self { has_color: false }
    }

    /// `text` in a tone. Line ends stay outside the colour.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        if !self.has_color {
            return text.to_owned();
        }
        text.split_inclusive('\n')
            .map(|line| match line.strip_suffix('\n') {
                Some("") => "\n".to_owned(),
                Some(line) => tone.paint(line) + "\n",
                None => tone.paint(line),
            })
            .collect()
    }

    /// `text` wrapped, with a line end.
    pub fn text(&self, text: &str) -> String {
        term::wrap(text, term::WIDTH).join("\n") + "\n"
    }

    /// `text` wrapped in the columns from `indent` on, the first line as well.
    pub fn indented(&self, text: &str, indent: usize) -> String {
        self.columns(&[], &[], text, indent)
    }

    /// One row: cells padded to their columns with two blanks between, then `last`, wrapped, from column `at` on.
    pub fn columns(&self, cells: &[&str], widths: &[usize], last: &str, at: usize) -> String {
        let row: String = cells
            .iter()
            .zip(widths)
            .map(|(cell, &columns)| term::pad(cell, columns) + "  ")
            .collect();
        let mut first = term::pad(&row, at);
        let mut out = String::new();
        for line in term::wrap(last, term::WIDTH - at) {
            out += (first + &line).trim_end();
            out += "\n";
            first = " ".repeat(at);
        }
        out
    }
}

/// Columns of the terminal; 80 where that is not known, as on a pipe.
#[cfg(unix)]
pub fn terminal_columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { term::WIDTH } else { columns }
}

/// Columns of the terminal; 80 where that is not known.
#[cfg(not(unix))]
pub fn terminal_columns() -> usize {
    term::WIDTH
}

/// Text whose lines are kept where they fit; longer ones are wrapped at blanks, or cut where there are none.
pub fn laid_out(text: &str, indent: usize) -> String {
    let blank = " ".repeat(indent);
    let mut out = String::new();
    for line in text.lines() {
        let own = line.len() - line.trim_start().len();
        if term::width(line) + indent <= term::WIDTH || own > term::WIDTH / 2 {
            out += &hard(line, indent, &blank);
            continue;
        }
        let at = indent + own;
        for part in term::wrap(line.trim_start(), term::WIDTH - at) {
            out += &hard(&part, at, &" ".repeat(at));
        }
    }
    out
}

/// A line from column `at` on behind `label`, broken wherever the terminal ends.
pub fn hard(line: &str, at: usize, label: &str) -> String {
    let mut label = label.to_owned();
    let mut out = String::new();
    for piece in pieces(line, term::WIDTH - at) {
        out += (label + &piece).trim_end();
        out += "\n";
        label = " ".repeat(at);
    }
    out
}

/// A line cut after every `room` columns; at least one piece.
pub fn pieces(line: &str, room: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for character in line.chars() {
        let piece = pieces.last_mut().expect("there is one");
        if term::width(piece) + term::width(character.encode_utf8(&mut [0; 4])) > room {
            pieces.push(character.to_string());
        } else {
            piece.push(character);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_wraps_under_itself() {
        let text = Page::plain().columns(&["05", "ab"], &[2, 4], &"word ".repeat(20), 10);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("05  ab    word word"), "{text}");
        assert!(lines[1].starts_with("          word"), "{text}");
        assert!(lines.iter().all(|line| term::width(line) <= 80), "{text}");
    }

    #[test]
    fn laid_out_lines_stay_and_long_ones_are_broken() {
        let text = format!("short\n    {}\n{}", "word ".repeat(20), "x".repeat(100));
        let out = laid_out(&text, 4);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[0], "    short");
        assert!(lines[2].starts_with("        word"), "{out}");
        assert!(lines.iter().all(|line| term::width(line) <= 80), "{out}");
        assert_eq!(out.matches('x').count(), 100);
    }

    #[test]
    fn colours_stay_within_their_line_and_off_a_pipe() {
        let page = Page { has_color: true };
        assert_eq!(page.paint(Tone::Bad, "a\n\nb"), "\x1b[31ma\x1b[0m\n\n\x1b[31mb\x1b[0m");
        assert_eq!(Page::plain().paint(Tone::Bad, "a"), "a");
    }
}
