//! An answer as it comes, and how long each line of it took.

use generation::Model;
use generation::text::TextStream;
use lab::number;
use lab::story::Story;
use lab::term::{self, Tone};
use training::TokenId;

/// Tokens on one line, with one bar.
const TOKENS_A_LINE: usize = 8;
/// Columns for their text.
const TEXT_COLUMNS: usize = 46;
/// Most columns of a bar.
const LONGEST_BAR: usize = 19;

/// Prints an answer in lines, each with a bar of the mean time of its tokens.
pub struct Bars<'a> {
    text: Option<TextStream<'a>>,
    line: String,
    times: Vec<f64>,
    full_bar: f64,
}

impl Bars<'_> {
    /// Nothing printed yet. `full_bar` seconds fill a bar.
    pub fn new(model: &Model, full_bar: f64) -> Bars<'_> {
        Bars {
            text: model.tokenizer.as_ref().map(TextStream::continuing),
            line: String::new(),
            times: Vec::new(),
            full_bar,
        }
    }

    /// Prints a token that took so many seconds.
    pub fn token(&mut self, story: &mut Story, token: TokenId, seconds: f64) {
        let piece = match &mut self.text {
            Some(text) => text.push(token).replace('\n', "↵"),
            None => format!(" {}", token.0),
        };
        // A line does not begin with the blank between two words.
        let piece = match self.times.is_empty() {
            true => piece.trim_start(),
            false => &piece,
        };
        if self.times.is_empty() {
            story.print("   ");
        }
        story.print(piece);
        self.line.push_str(piece);
        self.times.push(seconds);
        if self.times.len() == TOKENS_A_LINE {
            self.end_line(story);
        }
    }

    /// Prints the bar of the open line, if there is one.
    pub fn end_line(&mut self, story: &mut Story) {
        if self.times.is_empty() {
            return;
        }
        let seconds = self.times.iter().sum::<f64>() / self.times.len() as f64;
        let bar = term::bar(seconds / self.full_bar, LONGEST_BAR);
        let blanks = " ".repeat(TEXT_COLUMNS.saturating_sub(term::width(&self.line)) + 2);
        let bar = story.paint(Tone::Accent, &bar);
        story.print(format!("{blanks}{bar} {}\n", number::seconds(seconds)));
        self.line.clear();
        self.times.clear();
    }
}
