//! Texts that grow side by side, one in each column. A line is printed when all columns have filled it.

use lab::story::Story;
use lab::term::{self, Tone};

/// Columns of the screen that all texts share.
const SCREEN: usize = 74;

/// Texts side by side.
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
        columns.line(story, heads.iter().map(|head| (*head).to_owned()), Tone::Strong);
        columns
    }

    /// Adds a piece of text to a column.
    pub fn push(&mut self, column: usize, piece: &str) {
        self.texts[column].push_str(&piece.replace('\n', " ↵ "));
    }

    /// Prints the lines that all columns have filled.
    pub fn flow(&mut self, story: &mut Story) {
        let width = self.width;
        let is_full = |text: &String| term::wrap(text.trim_start(), width).len() > 1;
        while self.texts.iter().all(is_full) {
            self.print_line(story);
        }
    }

    /// Prints the rest.
    pub fn finish(mut self, story: &mut Story) {
        while self.texts.iter().any(|text| !text.trim().is_empty()) {
            self.print_line(story);
        }
    }

    /// Takes the first line of each column and prints it.
    fn print_line(&mut self, story: &mut Story) {
        let mut cells = Vec::with_capacity(self.texts.len());
        for text in &mut self.texts {
            let mut lines = term::wrap(text.trim_start(), self.width).into_iter();
            cells.push(lines.next().unwrap_or_default());
            *text = lines.collect::<Vec<_>>().join(" ");
        }
        self.line(story, cells.into_iter(), Tone::Plain);
    }

    fn line(&self, story: &mut Story, cells: impl Iterator<Item = String>, tone: Tone) {
        let cells = cells.map(|cell| term::pad(&term::cut(&cell, self.width), self.width));
        let line = format!("   {}", cells.collect::<Vec<_>>().join("  "));
        let line = story.paint(tone, line.trim_end());
        story.print(line + "\n");
    }
}
