//! The opening's screen: a column for each slot, time runs downwards. A line holds the text of a few steps.

use lab::story::Story;
use lab::term::{self, Tone};

/// Columns of the screen that the slots share; the number of the step stands before them.
const SCREEN: usize = 69;
/// Steps on one line.
const STEPS_A_LINE: usize = 4;

/// Texts that grow side by side.
pub struct Columns {
    /// Text of each slot that is not shown yet, and the mark behind it once its request has left.
    slots: Vec<(String, Option<&'static str>)>,
    width: usize,
    /// First step of the open line, counted from 1, and number of steps on it.
    first_step: usize,
    steps: usize,
}

impl Columns {
    /// A screen of `num_slots` columns, with its head.
    pub fn begin(story: &mut Story, num_slots: usize) -> Columns {
        let width = SCREEN / num_slots.max(1) - 1;
        let names: Vec<String> = (0..num_slots)
            .map(|slot| term::pad(&format!("slot {slot}"), width))
            .collect();
        let head = format!("   step   {}\n", names.join(" ").trim_end());
        let head = story.paint(Tone::Dim, &head);
        story.print(head);
        Columns {
            slots: vec![Default::default(); num_slots],
            width,
            first_step: 1,
            steps: 0,
        }
    }

    /// Requests begin, each in a slot with a text. The open line is shown first.
    pub fn join(&mut self, story: &mut Story, joined: &[(usize, &str)]) {
        self.end_line(story);
        for (slot, beginning) in joined {
            self.slots[*slot].0 = format!("▸ {beginning}");
        }
    }

    /// A piece of text in a slot.
    pub fn piece(&mut self, slot: usize, piece: &str) {
        let text = &mut self.slots[slot].0;
        let piece = piece.replace('\n', "↵");
        // A cell does not begin with the blank between two words.
        text.push_str(if text.is_empty() { piece.trim_start() } else { &piece });
    }

    /// The request of a slot leaves it.
    pub fn leave(&mut self, slot: usize, mark: &'static str) {
        self.slots[slot].1 = Some(mark);
    }

    /// A step is over.
    pub fn end_step(&mut self, story: &mut Story) {
        self.steps += 1;
        if self.steps == STEPS_A_LINE {
            self.end_line(story);
        }
    }

    /// Shows the text of the open line. Of a request that goes on, the last word stays for the next line, as it may not be whole.
    pub fn end_line(&mut self, story: &mut Story) {
        let mut label = self.first_step.to_string();
        (self.first_step, self.steps) = (self.first_step + self.steps, 0);
        let is_open = |(text, mark): &(String, Option<_>)| mark.is_some() || text.contains(' ');
        while self.slots.iter().any(is_open) {
            let cells = self
                .slots
                .iter_mut()
                .map(|(text, mark)| next_cell(text, mark, self.width));
            let cells: Vec<String> = cells.collect();
            story.print(format!("   {label:>4}   {}\n", cells.join(" ").trim_end()));
            label.clear();
        }
    }
}

/// Takes the words from `text` that fit into a cell, and shows the mark behind the last of them.
fn next_cell(text: &mut String, mark: &mut Option<&'static str>, width: usize) -> String {
    // A blank ends a word, and so does the end of a text that is over.
    let blanks = text.match_indices(' ').map(|(at, _)| at);
    let ends = blanks.chain(mark.map(|_| text.len()));
    let fits = |at: &usize| *at > 0 && term::width(&text[..*at]) + 2 <= width;
    let cut = ends.filter(fits).max();
    // A word that is wider than the cell is cut in the middle.
    let cut = cut.or_else(|| {
        text.char_indices()
            .map(|(at, _)| at)
            .filter(fits)
            .max()
            .filter(|_| term::width(text) + 2 > width)
    });
    let rest = text.split_off(cut.unwrap_or(0));
    let mut cell = std::mem::replace(text, rest.trim_start().to_owned());
    if text.is_empty()
        && let Some(mark) = mark.take()
    {
        cell += &format!(" {mark}");
    }
    term::pad(&cell, width)
}
