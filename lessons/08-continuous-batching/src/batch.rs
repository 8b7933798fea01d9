//! What one forward pass computes: rows of many requests, one after the other, without padding.

use crate::request::SeqId;
use std::ops::Range;
use training::TokenId;

// ANCHOR: batch
/// The rows of one pass, flat and ragged. A prompt is many rows of one sequence, a decoding request is one row; they stand in one batch, and the
/// forward pass does not know which is which.
///
/// ```text
/// sequences    |  7: 4 rows, a prompt  | 3: 1 row | 9: 1 row |
/// tokens       | 18   220   911     5  |   301    |    42    |
/// positions    |  0     1     2     3  |    17    |     8    |
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// `[rows]`: the token of each row.
    pub tokens: Vec<TokenId>,
    /// `[rows]`: its place in its own sequence.
    pub positions: Vec<usize>,
    /// Whose rows they are. The rows of a sequence stand together, at ascending positions.
    pub sequences: Vec<BatchSequence>,
}

/// A sequence's share of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSequence {
    /// Whose.
    pub id: SeqId,
    /// Its first row.
    pub first_row: usize,
    /// How many rows; at least one.
    pub num_rows: usize,
    /// Whether the token after its last row is wanted. The head multiplies that row and no other.
    pub wants_logits: bool,
}
// ANCHOR_END: batch

impl BatchSequence {
    /// Its rows.
    pub fn rows(&self) -> Range<usize> {
        self.first_row..self.first_row + self.num_rows
    }

    /// Its last row.
    pub fn last_row(&self) -> usize {
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
        }
    }

    /// Empties it; the room stays.
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.positions.clear();
        self.sequences.clear();
    }

    /// Takes out the rows of sequences that `keep` does not want; the others move up.
    pub fn retain(&mut self, mut keep: impl FnMut(SeqId) -> bool) {
        let (tokens, positions) = (&mut self.tokens, &mut self.positions);
        let mut row = 0;
        self.sequences.retain_mut(|sequence| {
            let kept = keep(sequence.id);
            if kept {
                tokens.copy_within(sequence.rows(), row);
                positions.copy_within(sequence.rows(), row);
                sequence.first_row = row;
                row += sequence.num_rows;
            }
            kept
        });
        tokens.truncate(row);
        positions.truncate(row);
    }

    /// Rows of all sequences.
    pub fn num_rows(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Sequences whose next token is wanted, in order: row `i` of the logits belongs to the `i`-th of them.
    pub fn sampling(&self) -> impl Iterator<Item = &BatchSequence> {
        self.sequences.iter().filter(|sequence| sequence.wants_logits)
    }

    /// Checks that the sequences cover the rows without gap or overlap, and that positions ascend by one.
    ///
    /// # Panics
    /// When a rule is broken: our own bug.
    pub fn check_invariants(&self) {
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
            row += sequence.num_rows;
        }
        assert_eq!(row, self.num_rows(), "rows that belong to nobody");
    }
}
