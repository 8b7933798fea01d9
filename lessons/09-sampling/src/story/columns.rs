//! Texts that grow side by side, a column each. A line is printed when every column has filled it.

use lab::story::Story;
use lab::term::{self, Tone};

/// Columns of the screen that the texts share.
const SCREEN: usize = 74;

/// Some texts beside each other.
pub struct Columns {
    texts: Vec<String>,
    width: usize,
}

impl Columns {
    /// Empty columns under these heads.
    pub fn begin(story: &mut Story, heads: &[&str]) -> Columns {
        let columns = Columns {
            texts: vec![String::new(); heads.len()],
            width: SCREEN / heads.len() - 2,
        };
        let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
        columns.line(story, &heads, Tone::Strong);
        columns
    }

    /// A piece of text for a column.
    pub fn push(&mut self, column: usize, piece: &str) {
        self.texts[column].push_str(&piece.replace('\n', " ↵ "));
    }

    /// Prints the lines that are full.
    pub fn flow(&mut self, story: &mut Story) {
        while self.texts.iter().all(|text| self.wrapped(text).len() > 1) {
            self.print_line(story);
        }
    }

    /// Prints whatever is left.
    pub fn finish(mut self, story: &mut Story) {
        while self.texts.iter().any(|text| !text.trim().is_empty()) {
            self.print_line(story);
        }
    }

    fn wrapped(&self, text: &str) -> Vec<String> {
        term::wrap(text.trim_start(), self.width)
    }

    /// Prints the first line of each column.
    fn print_line(&mut self, story: &mut Story) {
        let mut cells = Vec::with_capacity(self.texts.len());
        for column in 0..self.texts.len() {
            let mut lines = self.wrapped(&self.texts[column]).into_iter();
            cells.push(lines.next().unwrap_or_default());
            self.texts[column] = lines.collect::<Vec<_>>().join(" ");
        }
        self.line(story, &cells, Tone::Plain);
    }

    fn line(&self, story: &mut Story, cells: &[String], tone: Tone) {
        let cells: Vec<String> = (cells.iter())
            .map(|cell| term::pad(&term::cut(cell, self.width), self.width))
            .collect();
        let line = format!("   {}", cells.join("  "));
        let line = story.paint(tone, line.trim_end());
        story.print(line + "\n");
    }
}
