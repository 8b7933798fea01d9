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
    pub fn join(&mut self, story: &mut Story, step: usize, joined: &[(usize, &str)]) {
        self.end_line(story);
        let wrapped: Vec<(usize, Vec<String>)> = (joined.iter())
            .map(|(slot, text)| (*slot, term::wrap(text, self.width - 2)))
            .collect();
        let lines = wrapped.iter().map(|(_, lines)| lines.len()).max();
        for line in 0..lines.unwrap_or(0) {
            let label = if line == 0 { step.to_string() } else { String::new() };
            let cells: Vec<String> = (0..self.columns.len())
                .map(|slot| {
                    let new = wrapped.iter().find(|(at, _)| *at == slot);
                    match new {
                        Some((_, lines)) => self.beginning(story, lines, line),
                        None => self.beside(story, slot, line),
                    }
                })
                .collect();
            story.print(format!("   {label:>4}   {}\n", cells.join(" ").trim_end()));
        }
        for (slot, _) in joined {
            self.columns[*slot].taken = true;
        }
        (self.first_step, self.steps) = (step, 0);
    }

    /// A line of the beginning of one who joins.
    fn beginning(&self, story: &Story, lines: &[String], line: usize) -> String {
        let mark = if line == 0 { "▸" } else { " " };
        let text = lines.get(line).map_or(String::new(), |text| format!("{mark} {text}"));
        story.paint(Tone::Accent, &term::pad(&text, self.width))
    }

    /// The same line of one who goes on.
    fn beside(&self, story: &Story, slot: usize, line: usize) -> String {
        let mark = if self.columns[slot].taken && line == 0 {
            "·"
        } else {
            ""
        };
        story.paint(Tone::Dim, &term::pad(mark, self.width))
    }

    /// A piece of text in a slot.
    pub fn piece(&mut self, slot: usize, piece: &str) {
        let text = &mut self.columns[slot].text;
        let piece = piece.replace('\n', "↵");
        // A line does not begin with the blank between two words.
        text.push_str(if text.is_empty() { piece.trim_start() } else { &piece });
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

    /// Ends the open line, if there is one. A word that may go on stays for the next line; of a text that left nothing stays.
    pub fn end_line(&mut self, story: &mut Story) {
        if self.steps == 0 {
            return;
        }
        let mut label = self.first_step.to_string();
        loop {
            let all = label.is_empty();
            let cells: Vec<String> = (self.columns.iter_mut())
                .map(|column| match all && column.left.is_none() {
                    true => " ".repeat(self.width),
                    false => column.next_cell(self.width, story),
                })
                .collect();
            story.print(format!("   {label:>4}   {}\n", cells.join(" ").trim_end()));
            label.clear();
            if self.columns.iter().all(|column| column.left.is_none()) {
                break;
            }
        }
        (self.first_step, self.steps) = (self.first_step + self.steps, 0);
    }
}

impl Column {
    /// As much of the text as fits into a cell; with its mark, if it left and nothing remains.
    fn next_cell(&mut self, width: usize, story: &Story) -> String {
        let mark = self.left.map_or(String::new(), |mark| format!(" {mark}"));
        let room = width - term::width(&mark);
        let cut = place_to_cut(&self.text, room, self.left.is_some());
        let rest = self.text.split_off(cut);
        let shown = std::mem::replace(&mut self.text, rest.trim_start().to_owned());
        let is_over = self.left.is_some() && self.text.is_empty();
        let mark = if is_over { mark } else { String::new() };
        if is_over {
            (self.left, self.taken) = (None, false);
        }
        let blanks = " ".repeat(width.saturating_sub(term::width(&shown) + term::width(&mark)));
        format!("{shown}{}{blanks}", story.paint(Tone::Good, &mark))
    }
}

/// Where a text is cut for a cell of so many columns: before a blank, at its end if it `is_whole`, or in the middle of a word that is too long.
fn place_to_cut(text: &str, columns: usize, is_whole: bool) -> usize {
    let blanks = text.match_indices(' ').map(|(at, _)| at);
    let end = is_whole.then_some(text.len());
    let fits = |at: &usize| term::width(&text[..*at]) <= columns;
    match blanks.chain(end).filter(fits).max() {
        Some(at) if at > 0 => at,
        _ if term::width(text) <= columns => 0,
        _ => {
            let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
            ends.filter(fits).max().unwrap_or(text.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::place_to_cut;

    #[track_caller]
    fn check(text: &str, columns: usize, is_whole: bool, shown: &str) {
        assert_eq!(&text[..place_to_cut(text, columns, is_whole)], shown);
    }

    #[test]
    fn words_stay_whole_where_they_fit() {
        check("and the two h", 22, false, "and the two");
        check("and the two h", 22, true, "and the two h");
        check("and the two houses", 14, true, "and the two");
        check("Mol", 22, false, "");
        check("unbelievably", 5, false, "unbel");
        check("你好吗", 4, true, "你好");
        check("", 4, true, "");
    }
}
