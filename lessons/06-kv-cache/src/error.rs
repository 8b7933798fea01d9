//! Errors of a cache.

use generation::GenerateError;

/// Why a pass over the cache, or a change of it, was refused. A refused pass computes no row, and a refused `truncate`
/// changes nothing.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    // ANCHOR: error
    /// The cache has no room for all new positions.
    #[error(
        "the cache holds {len} of {capacity} positions, expected room for {new} more; make it with room for {}, or ask \
         for fewer tokens",
        len + new
    )]
    Full {
        /// Number of positions that the cache holds.
        len: usize,
        /// Number of positions to append.
        new: usize,
        /// Number of positions that fit into the cache.
        capacity: usize,
    },
    // ANCHOR_END: error
    /// The cache has room, but the context of the model is too short.
    #[error(
        "expected at most {max_seq_len} positions, the context of this model, found {len} in the cache and {new} more; \
         shorten the text"
    )]
    PastContext {
        /// Number of positions that the cache holds.
        len: usize,
        /// Number of positions to append.
        new: usize,
        /// Number of positions in the model's context.
        max_seq_len: usize,
    },
    /// A cache was to be truncated to more positions than it holds.
    #[error("expected to keep at most the {held} positions that the cache holds, found {len}; append the others first")]
    TruncateBeyondLen {
        /// Number of positions to keep.
        len: usize,
        /// Number of positions that the cache holds.
        held: usize,
    },
    /// An error of lesson 05's pass or loop.
    #[error(transparent)]
    Generate(#[from] GenerateError),
}
