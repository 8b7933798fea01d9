//! Which documents are trained on, and which are only ever measured.
//!
//! The split is decided by a hash of a document's *content*, never by its position, its seed or a running random number.
//! So two documents with one content can not fall on different sides, however often the corpus is made again.

use serde::Serialize;

pub use crate::exercises::split_of;

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
