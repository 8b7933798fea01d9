//! Which documents are trained on, and which are only measured.
//!
//! A hash of a document's *content* decides its side, never its position, its seed or a running random number
//! ([`split_of`](crate::exercises::split_of)). So two documents with one content are always on one side, however often
//! the corpus is made again.

use serde::Serialize;

// ANCHOR: split
/// The three parts of a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Read by the trainer.
    Train,
    /// Looked at during training, to see how it goes.
    Validation,
    /// Looked at when training is over.
    Test,
}
// ANCHOR_END: split
