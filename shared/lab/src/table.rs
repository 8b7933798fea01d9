//! Tables for a terminal: numbers to the right, text to the left, double-width characters counted as two.

use std::fmt::{self, Display};

use crate::term;

/// A table with a header. A column in which every filled cell begins like a number is aligned to the right.
///
/// ```
/// let mut table = lab::table::Table::new(&["rung", "GFLOP/s"]);
/// table.row(["naive", "1.2"]).row(["packed", "40.1"]);
/// assert_eq!(table.to_string(), "rung    GFLOP/s\n──────  ───────\nnaive       1.2\npacked     40.1\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these column names.
    pub fn new(header: &[&str]) -> Self {
        Self {
            header: header.iter().map(|name| name.to_string()).collect(),
            rows: Vec::new(),
        }
    }

    /// A table with these column names and a row for each item.
    #[track_caller]
    pub fn of<C: Display, R: IntoIterator<Item = C>>(header: &[&str], rows: impl IntoIterator<Item = R>) -> Self {
        let mut table = Self::new(header);
        for row in rows {
            table.row(row);
        }
        table
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If the number of cells is not that of the header.
    #[track_caller]
    pub fn row<C: Display>(&mut self, cells: impl IntoIterator<Item = C>) -> &mut Self {
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.to_string()).collect();
        assert_eq!(cells.len(), self.header.len(), "a row has as many cells as the header");
        self.rows.push(cells);
        self
    }

    /// Number of rows, the header not counted.
    pub fn num_rows(&self) -> usize {
        self.rows.len()
    }

    /// Columns that the table takes.
    pub fn width(&self) -> usize {
        let columns = self.header.len();
        (0..columns).map(|column| self.column_width(column)).sum::<usize>() + 2 * columns.saturating_sub(1)
    }

    fn column_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| term::width(&row[column]));
        cells.chain([term::width(&self.header[column])]).max().unwrap_or(0)
    }

    fn is_numeric(&self, column: usize) -> bool {
        let mut filled = self
            .rows
            .iter()
            .map(|row| row[column].trim())
            .filter(|cell| !cell.is_empty())
            .peekable();
        filled.peek().is_some() && filled.all(begins_like_a_number)
    }

    fn write_row(&self, f: &mut fmt::Formatter<'_>, row: &[String]) -> fmt::Result {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let blanks = " ".repeat(self.column_width(column) - term::width(cell));
            let gap = if column == 0 { "" } else { "  " };
            line += gap;
            line += &if self.is_numeric(column) {
                blanks + cell
            } else {
                cell.clone() + &blanks
            };
        }
        writeln!(f, "{}", line.trim_end())
    }
}

/// A digit after an optional sign; `-` alone stands for "no value".
fn begins_like_a_number(cell: &str) -> bool {
    let rest = cell.trim_start_matches(['-', '+', '±', '×', '~', '<', '>', '≈', ' ']);
    rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit())
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_row(f, &self.header)?;
        let rule = (0..self.header.len()).map(|column| "─".repeat(self.column_width(column)));
        writeln!(f, "{}", rule.collect::<Vec<_>>().join("  "))?;
        self.rows.iter().try_for_each(|row| self.write_row(f, row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_text_to_the_left() {
        let mut table = Table::new(&["name", "rows", "note"]);
        table
            .row(["naive", "2784", "all again"])
            .row(["cached", "75", ""])
            .row(["none", "-", "?"]);
        let expected = "\
name    rows  note
──────  ────  ─────────
naive   2784  all again
cached    75
none       -  ?
";
        assert_eq!(table.to_string(), expected);
        assert_eq!(table.width(), 23);
    }

    #[test]
    fn double_width_names_keep_columns_straight() {
        let mut table = Table::new(&["模型", "n"]);
        table.row(["故事", "1"]).row(["a", "20"]);
        assert_eq!(table.to_string(), "模型   n\n────  ──\n故事   1\na     20\n");
    }

    #[test]
    fn a_table_of_rows_is_the_table_with_these_rows_added() {
        let mut table = Table::new(&["rows", "ms"]);
        table.row(["1", "2.5"]).row(["2", "3.5"]);
        let rows = [(1, 2.5), (2, 3.5)];
        assert_eq!(
            Table::of(&["rows", "ms"], rows.map(|(n, ms)| [n.to_string(), ms.to_string()])),
            table
        );
    }

    #[test]
    #[should_panic(expected = "as many cells as the header")]
    fn a_short_row_is_our_own_bug() {
        Table::new(&["a", "b"]).row(["1"]);
    }
}
