//! Tables for a terminal: numbers to the right, text to the left, double-width characters counted as two.

use std::fmt::{self, Display};

use crate::term;

/// A table with a header. A column whose cells all begin like numbers is aligned to the right.
#[derive(Clone, Debug, Default)]
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

    /// Adds a row.
    ///
    /// # Panics
    /// If the number of cells is not that of the header.
    #[track_caller]
    pub fn row<C: Display>(&mut self, cells: impl IntoIterator<Item = C>) -> &mut Self {
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.to_string()).collect();
        assert_eq!(
            cells.len(),
            self.header.len(),
            "a row has as many cells as the header"
        );
        self.rows.push(cells);
        self
    }

    /// Number of rows, the header not counted.
    pub fn num_rows(&self) -> usize {
        self.rows.len()
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in std::iter::once(&self.header).chain(&self.rows) {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| {
                    format!(
                        "{cell}{}",
                        " ".repeat(12usize.saturating_sub(term::width(cell)))
                    )
                })
                .collect();
            writeln!(f, "{}", cells.join("  ").trim_end())?;
        }
        Ok(())
    }
}
