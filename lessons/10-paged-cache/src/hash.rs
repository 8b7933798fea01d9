//! The name of a block's content: a hash of its tokens and of everything before them.

use sha2::{Digest, Sha256};
use training::TokenId;

/// A hash that names the content of a full block together with all blocks before it. Keys depend on the whole text up
/// to them, so equal tokens in another place are other content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockHash(pub [u8; 32]);

/// Requests with different salts never share a block by content. A server gives each tenant a salt of its own, so that
/// no tenant can find out by timing what another one has asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Salt(pub u64);

// ANCHOR: before
/// The name of a published block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The hash of its content: what it is looked up by.
    pub hash: BlockHash,
    /// Counts publications, so no two contents ever have the same number, even where they have the same hash.
    pub serial: u64,
}

/// What stands before a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing: the block is the first one of its text. The salt goes into its hash, so that equal first blocks of
    /// different salts have different names.
    Nothing(Salt),
    /// The block with this name.
    Block(Name),
}
// ANCHOR_END: before

/// How contents are hashed. Tests use weak hashes in the place of [`hash_block`]: whatever the hash, a request may be
/// given only blocks of its own text.
pub type HashBlock = fn(&Before, &[TokenId]) -> BlockHash;

/// The hash of a block that holds `tokens` and stands behind `before`.
///
/// SHA-256, so that no text can be made whose blocks have the hashes of another text's blocks. No request would be
/// given a wrong block, as contents are compared; but [`crate::prefix::PrefixIndex::publish`] would forget the older
/// block.
///
/// Cost: some hundred nanoseconds. A block is hashed once when it becomes full, and once each time that it is looked up
/// for a request that tries to join.
pub fn hash_block(before: &Before, tokens: &[TokenId]) -> BlockHash {
    let mut hasher = Sha256::new();
    // ANCHOR: hash
    // The name before stands for the whole text before, so earlier tokens are not hashed again.
    match before {
        Before::Nothing(salt) => hasher.update(salt.0.to_le_bytes()),
        Before::Block(name) => hasher.update(name.hash.0),
    }
    for token in tokens {
        hasher.update(token.0.to_le_bytes());
    }
    // ANCHOR_END: hash
    BlockHash(hasher.finalize().into())
}
