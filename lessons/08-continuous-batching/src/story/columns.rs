//! The opening's screen: one column a slot, time runs downwards. A line ends where somebody joins, or after a few steps.

use lab::story::Story;
use lab::term::{self, Tone};

/// Columns of the screen that the slots share; the number of the step stands before them.
const SCREEN: usize = 69;
/// Steps on one line.
const STEPS_A_LINE: usize = 4;

/// Who sits in a slot, as far as the screen knows.
#[derive(Clone, Debug, Default)]
struct Column {
    /// Text that came since the line began.
    text: String,
    taken: bool,
    /// Left since the line began, by this mark.
    left: Option<&'static str>,
}

/// Texts that grow side by side.
pub struct Columns {
    columns: Vec<Column>,
    width: usize,
    /// Step that the open line begins with, and how many are on it.
    first_step: usize,
    steps: usize,
}

impl Columns {
    /// A screen of so many slots, with its head.
    pub fn begin(story: &mut Story, num_slots: usize) -> Columns {
        let width = SCREEN / num_slots.max(1) - 1;
        let columns = Columns {
            columns: vec![Column::default(); num_slots],
            width,
            first_step: 1,
            steps: 0,
        };
        let names: Vec<String> = (0..num_slots)
            .map(|slot| term::pad(&format!("slot {slot}"), width))
            .collect();
        let head = format!("   step   {}\n", names.join(" ").trim_end());
        let head = story.paint(Tone::Dim, &head);
        story.print(head);
        columns
    }

    /// New texts sit down: their beginnings get a line of their own, beside those who go on.
    pub fn join(&mut self, story: &mut Story, step: usize, joined: &[(usize, String)]) {
        self.end_line(story);
        let cells: Vec<String> = (0..self.columns.len())
            .map(|slot| {
                let new = joined.iter().find(|(at, _)| *at == slot);
                let cell = match new {
                    Some((_, text)) => format!("▸ {text}"),
                    None if self.columns[slot].taken => "·".to_owned(),
                    None => String::new(),
                };
                let cell = term::pad(&term::cut(&cell, self.width), self.width);
                story.paint(if new.is_some() { Tone::Accent } else { Tone::Dim }, &cell)
            })
            .collect();
        story.print(format!("   {step:>4}   {}\n", cells.join(" ").trim_end()));
        for (slot, _) in joined {
            self.columns[*slot].taken = true;
        }
        (self.first_step, self.steps) = (step, 0);
    }

    /// A piece of text in a slot.
    pub fn piece(&mut self, slot: usize, piece: &str) {
        let text = &mut self.columns[slot].text;
        let piece = piece.replace('\n', "↵");
        // A line does not begin with the blank between two words.
        text.push_str(if text.is_empty() {
            piece.trim_start()
        } else {
            &piece
        });
    }

    /// A text leaves its slot.
    pub fn leave(&mut self, slot: usize, mark: &'static str) {
        self.columns[slot].left = Some(mark);
    }

    /// A step is over.
    pub fn end_step(&mut self, story: &mut Story) {
        self.steps += 1;
        if self.steps == STEPS_A_LINE {
            self.end_line(story);
        }
    }

    /// Ends the open line, if there is one.
    pub fn end_line(&mut self, story: &mut Story) {
        if self.steps == 0 {
            return;
        }
        let mut cells = Vec::with_capacity(self.columns.len());
        for column in &mut self.columns {
            let text = std::mem::take(&mut column.text);
            let left = column.left.take();
            let mark = left.map_or(String::new(), |mark| format!(" {mark}"));
            let room = self.width.saturating_sub(term::width(&mark));
            let cell = term::cut(&text, room);
            let blanks = " ".repeat(room.saturating_sub(term::width(&cell)));
            cells.push(format!("{cell}{}{blanks}", story.paint(Tone::Good, &mark)));
            column.taken &= left.is_none();
        }
        story.print(format!(
            "   {:>4}   {}\n",
            self.first_step,
            cells.join(" ").trim_end()
        ));
        (self.first_step, self.steps) = (self.first_step + self.steps, 0);
    }
}
