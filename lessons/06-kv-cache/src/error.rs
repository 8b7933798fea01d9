//! What can go wrong with a cache.

use generation::GenerateError;

/// Why a pass over the cache, or a change of it, was refused. A refused pass changes nothing, and neither does a refused `truncate`.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    // ANCHOR: error
    /// The cache has no room for all new positions.
    #[error(
        "the cache holds {len} of {capacity} positions, expected room for {new} more; make it with room for {}, or ask for fewer tokens",
        len + new
    )]
    Full {
        /// Positions held.
        len: usize,
        /// Positions that should have come.
        new: usize,
        /// Positions that fit.
        capacity: usize,
    },
    // ANCHOR_END: error
    /// The cache has room, but the model knows no such positions.
    #[error(
        "expected at most {max_seq_len} positions, the context of this model, found {len} in the cache and {new} more; shorten the text"
    )]
    PastContext {
        /// Positions held.
        len: usize,
        /// Positions that should have come.
        new: usize,
        /// The model's context.
        max_seq_len: usize,
    },
    /// A cache can be cut back, not forward.
    #[error("expected to keep at most the {held} positions that the cache holds, found {len}; append the others first")]
    TruncateBeyondLen {
        /// Positions to keep.
        len: usize,
        /// Positions held.
        held: usize,
    },
    /// What lesson 05 refuses is refused here too.
    #[error(transparent)]
    Generate(#[from] GenerateError),
}
