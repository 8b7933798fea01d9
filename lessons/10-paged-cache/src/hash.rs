//! The name of a block's content: a hash of its tokens and of everything before them.

use sha2::{Digest, Sha256};
use training::TokenId;

/// Names the content of a full block and of all blocks before it. Keys depend on the whole text up to them, so equal tokens in another place are other
/// content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockHash(pub [u8; 32]);

/// Whose texts may be shared: requests with different salts never share a block. A server gives each tenant a salt of its own, so that nobody can find
/// out by timing what others have asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Salt(pub u64);

/// The name of the block that holds `tokens` and follows the block named `parent`; the first block of a text has none.
///
/// SHA-256, so that nobody can write a text whose blocks are taken for another's. Cost: some hundred nanoseconds for a block, once in its life.
pub fn hash_block(parent: Option<&BlockHash>, salt: Salt, tokens: &[TokenId]) -> BlockHash {
    let mut hasher = Sha256::new();
    // ANCHOR: hash
    match parent {
        Some(parent) => hasher.update(parent.0),
        None => hasher.update(salt.0.to_le_bytes()),
    }
    for token in tokens {
        hasher.update(token.0.to_le_bytes());
    }
    // ANCHOR_END: hash
    BlockHash(hasher.finalize().into())
}
