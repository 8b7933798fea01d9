//! A race's result on a terminal: a row for each entry, with a bar and the ratio to the baseline.

use crate::number::short;
use crate::term::{self, Tone};

use super::{Better, RaceEntry, RaceResult};

/// Columns that the longest bar takes.
const BAR_COLUMNS: usize = 24;

/// Columns that a name may take before it is cut.
const NAME_COLUMNS: usize = 30;

impl RaceResult {
    /// The result as lines of at most 77 columns: name, x, median, spread, bar, ratio to the baseline.
    /// `paint` gives a tone to a piece; [`RaceResult::lines`] is the plain form.
    pub fn lines_painted(&self, paint: &dyn Fn(Tone, &str) -> String) -> Vec<String> {
        let less_or_more = match self.better {
            Better::Lower => "less is better",
            Better::Higher => "more is better",
        };
        let mut lines = vec![format!(
            "{} {}",
            paint(Tone::Strong, &self.title),
            paint(Tone::Dim, &format!("({}, {less_or_more})", self.unit))
        )];
        let has_x = self.entries.iter().any(|entry| entry.x.is_some());
        let cells: Vec<[String; 4]> = self.entries.iter().map(|entry| self.cells(entry)).collect();
        let column = |at: usize, header: &str| {
            cells
                .iter()
                .map(|c| term::width(&c[at]))
                .chain([term::width(header)])
                .max()
                .unwrap_or(0)
        };
        let (name, x) = (column(0, ""), column(1, "x"));
        let (median, spread) = (column(2, "median"), column(3, "spread"));
        let right =
            |text: &str, columns: usize| format!("{}{text}", " ".repeat(columns.saturating_sub(term::width(text))));
        let x_column = |text: &str| {
            if has_x {
                format!("  {}", right(text, x))
            } else {
                String::new()
            }
        };
        lines.push(paint(
            Tone::Dim,
            &format!(
                "{}{}  {}  {}",
                " ".repeat(name),
                x_column("x"),
                right("median", median),
                right("spread", spread)
            ),
        ));
        let bar_columns = BAR_COLUMNS
            .min(77usize.saturating_sub(name + x_column("x").len() + median + spread + 6 + 10))
            .max(6);
        let largest = self
            .entries
            .iter()
            .map(|entry| entry.median)
            .filter(|m| m.is_finite())
            .fold(0.0, f64::max);
        for (entry, cell) in self.entries.iter().zip(&cells) {
            let (remark, tone) = self.remark(entry);
            let bar = term::pad(&term::bar(entry.median / largest, bar_columns), bar_columns);
            lines.push(format!(
                "{}{}  {}  {}  {} {}",
                term::pad(&cell[0], name),
                x_column(&cell[1]),
                paint(Tone::Strong, &right(&cell[2], median)),
                paint(Tone::Dim, &right(&cell[3], spread)),
                paint(tone, &bar),
                paint(tone, &remark),
            ));
        }
        let rounds = self.entries.iter().map(|entry| entry.samples.len()).max().unwrap_or(0);
        if rounds > 0 {
            let rounds = if rounds == 1 {
                "one round".to_string()
            } else {
                format!("{rounds} rounds in turn")
            };
            lines.push(paint(
                Tone::Dim,
                &format!("median of {rounds} after a warm-up; spread: width of the middle half"),
            ));
        }
        lines
    }

    /// The result as plain lines.
    pub fn lines(&self) -> Vec<String> {
        self.lines_painted(&|_, text| text.to_string())
    }

    fn cells(&self, entry: &RaceEntry) -> [String; 4] {
        let x = entry.x.map_or(String::new(), short);
        [
            term::cut(&entry.name, NAME_COLUMNS),
            x,
            short(entry.median),
            short(entry.spread),
        ]
    }

    /// What stands behind the bar: "baseline", or how many times as good as it.
    fn remark(&self, entry: &RaceEntry) -> (String, Tone) {
        let baseline = self
            .entries
            .iter()
            .find(|other| other.name == self.baseline && other.x == entry.x);
        match baseline {
            _ if entry.name == self.baseline => ("baseline".into(), Tone::Dim),
            None => (String::new(), Tone::Plain),
            Some(baseline) => {
                let ratio = self.times_as_good(entry, baseline);
                let tone = if ratio >= 1.05 {
                    Tone::Good
                } else if ratio <= 0.95 {
                    Tone::Bad
                } else {
                    Tone::Plain
                };
                (format!("{} x", short(ratio)), tone)
            }
        }
    }
}
