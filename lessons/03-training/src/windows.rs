//! The windows in which a long text is scored; [`scoring_windows`](crate::exercises::scoring_windows) cuts them.

use std::ops::Range;

/// One call of the model during scoring. Both are ranges of positions; position `p` reads token `p`, predicts `p + 1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoringWindow {
    /// What the model reads.
    pub inputs: Range<usize>,
    /// What counts; ends where `inputs` ends.
    pub scored: Range<usize>,
}
