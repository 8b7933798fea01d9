//! What one forward pass computes: rows of many requests, one after the other, without padding.

use crate::request::SeqId;
use std::ops::Range;
use training::TokenId;

// ANCHOR: batch
/// All that crosses to the runner: the rows of one pass, flat and ragged, from the scheduler, and where each sequence
/// lies, from the memory.
///
/// A prompt is many rows of one sequence, a decoding request is one row. Both stand in one batch, and the forward pass
/// does not tell them apart.
///
/// ```text
/// sequences    |  7: 4 rows, a prompt  | 3: 1 row | 9: 1 row |
/// tokens       | 18   220   911     5  |   301    |    42    |
/// positions    |  0     1     2     3  |    17    |     8    |
/// tables       |         slot 2        |  slot 0  |  slot 1  |
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// `[rows]`: the token of each row.
    pub tokens: Vec<TokenId>,
    /// `[rows]`: the position of each row in its own sequence.
    pub positions: Vec<usize>,
    /// The sequences. The rows of one sequence are neighbours, at ascending positions.
    pub sequences: Vec<BatchSequence>,
    /// Copies inside the cache that the pass makes first, in this order, as (from, to).
    pub copies: Vec<(u32, u32)>,
    /// Tables of all sequences, one after the other.
    tables: Vec<u32>,
    /// `[sequences]`: where the table of each sequence ends in `tables`.
    table_ends: Vec<usize>,
    /// `[rows]`: the sequence that each row belongs to, as an index into `sequences`.
    row_sequences: Vec<usize>,
}

/// A sequence's share of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSequence {
    /// Number of the request.
    pub id: SeqId,
    /// Index of its first row in the batch.
    pub first_row: usize,
    /// Number of its rows, at least one.
    pub num_rows: usize,
    /// Whether the token after its last row is wanted. The head multiplies only such rows.
    pub wants_logits: bool,
}
// ANCHOR_END: batch

impl BatchSequence {
    /// Indices of its rows in the batch.
    pub fn rows(&self) -> Range<usize> {
        self.first_row..self.first_row + self.num_rows
    }

    /// Index of its last row in the batch.
    pub fn last_row(&self) -> usize {
        // A sequence of a batch has at least one row, so this is no row of another sequence.
        self.first_row + self.num_rows - 1
    }
}

impl Batch {
    /// An empty batch with room for `rows` rows and as many sequences.
    pub fn with_capacity(rows: usize) -> Batch {
        Batch {
            tokens: Vec::with_capacity(rows),
            positions: Vec::with_capacity(rows),
            sequences: Vec::with_capacity(rows),
            copies: Vec::new(),
            tables: Vec::with_capacity(rows),
            table_ends: Vec::with_capacity(rows),
            row_sequences: Vec::with_capacity(rows),
        }
    }

    /// Removes everything; the allocated room stays.
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.positions.clear();
        self.sequences.clear();
        self.copies.clear();
        self.tables.clear();
        self.table_ends.clear();
        self.row_sequences.clear();
    }

    /// Number of rows of all sequences.
    pub fn num_rows(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there is no row to compute.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Sequences whose next token is wanted, in order: row `i` of the logits belongs to the `i`-th of them.
    pub fn sampling(&self) -> impl Iterator<Item = &BatchSequence> {
        self.sequences.iter().filter(|sequence| sequence.wants_logits)
    }

    /// Adds the table of the next sequence that has none yet; `write` appends its numbers.
    pub fn add_table(&mut self, write: impl FnOnce(&mut Vec<u32>)) {
        // Tables come in the order of the sequences, so the next one belongs to the first sequence without a table.
        let sequence = self.table_ends.len();
        write(&mut self.tables);
        // The end is kept, not the length: otherwise finding a table would need the sum of all lengths before it.
        self.table_ends.push(self.tables.len());
        let num_rows = self.sequences[sequence].num_rows;
        // Attention asks by row, so each row knows its sequence.
        self.row_sequences.extend(std::iter::repeat_n(sequence, num_rows));
    }

    /// The table of a sequence, by its index in `sequences`: the numbers of the pieces of memory that hold its
    /// positions, in the order of the positions. With slots that is the number of one slot.
    pub fn table(&self, sequence: usize) -> &[u32] {
        // A table begins where the one before it ends; the first one begins at 0.
        let start = sequence.checked_sub(1).map_or(0, |before| self.table_ends[before]);
        &self.tables[start..self.table_ends[sequence]]
    }

    /// The table of the sequence that a row belongs to.
    pub fn table_of_row(&self, row: usize) -> &[u32] {
        self.table(self.row_sequences[row])
    }

    /// Whether two rows belong to the same sequence.
    pub fn same_sequence(&self, row: usize, other: usize) -> bool {
        self.row_sequences[row] == self.row_sequences[other]
    }

    /// Checks that the sequences cover the rows without gap or overlap, that positions ascend by one, and that each
    /// sequence has a table.
    ///
    /// # Panics
    /// When a rule is broken: a bug of the workbook.
    pub fn check_invariants(&self) {
        // Each row has a token and a position.
        assert_eq!(self.tokens.len(), self.positions.len());
        let mut row = 0;
        for sequence in &self.sequences {
            assert!(sequence.num_rows >= 1, "{sequence:?} has no row");
            assert_eq!(sequence.first_row, row, "{sequence:?}");
            let positions = &self.positions[sequence.rows()];
            assert!(
                positions.windows(2).all(|pair| pair[1] == pair[0] + 1),
                "{sequence:?}: {positions:?}"
            );
            // The next sequence has to begin here.
            row += sequence.num_rows;
        }
        assert_eq!(row, self.num_rows(), "rows without a sequence");
        assert_eq!(self.table_ends.len(), self.sequences.len(), "a table for each sequence");
        assert_eq!(self.row_sequences.len(), self.num_rows());
    }
}
