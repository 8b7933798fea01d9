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

    /// Shows the text of the open line. Of a request that goes on, the last word stays for the next line, as it may not
    /// be whole.
    pub fn end_line(&mut self, story: &mut Story) {
        let width = self.width;
        let cells = self.slots.iter_mut().map(|(text, mark)| {
            let whole = mark.map_or(text.rfind(' ').unwrap_or(0), |_| text.len());
            let rest = text.split_off(whole).trim_start().to_owned();
            let shown = std::mem::replace(text, rest);
            let mut lines = term::wrap(&shown, width - 2);
            lines.retain(|line| !line.is_empty());
            if let Some(mark) = mark.take() {
                let last = lines.pop().unwrap_or_default();
                lines.push(format!("{last} {mark}"));
            }
            lines
        });
        let cells: Vec<Vec<String>> = cells.collect();
        let mut label = self.first_step.to_string();
        for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let cell = |lines: &Vec<String>| term::pad(lines.get(line).map_or("", String::as_str), width);
            let cells: Vec<String> = cells.iter().map(cell).collect();
            story.print(format!("   {label:>4}   {}\n", cells.join(" ").trim_end()));
            label.clear();
        }
        (self.first_step, self.steps) = (self.first_step + self.steps, 0);
    }
}
