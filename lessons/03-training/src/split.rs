//! Which documents are trained on, and which are only ever measured.
//!
//! The split is decided by a hash of a document's *content*, never by its position, its seed or a running random number.
//! So two documents with one content can not fall on different sides, however often the corpus is made again.

use serde::Serialize;
use sha2::{Digest, Sha256};

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

/// The split of a document with this content: 18 parts in 20 are for training, one each for the others.
pub fn split_of(content: &str) -> Split {
    let digest = Sha256::digest(content.as_bytes());
    let first = u64::from_le_bytes(digest[..8].try_into().expect("a digest has 32 bytes"));
    match first % 20 {
        0 => Split::Test,
        1 => Split::Validation,
        _ => Split::Train,
    }
}
