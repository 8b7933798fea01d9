//! How much of a text is there already.

use crate::block::BlockId;
use crate::hash::{BlockHash, Salt, hash_block};
use crate::prefix::PrefixIndex;
use training::TokenId;

/// Finds the published blocks that hold the beginning of a text. Appends their numbers to `blocks` and their names to `hashes`, in order.
///
/// Only full blocks have names; each name is made of the name of the block before it and of its own tokens. The first block that is not
/// published ends the match: keys further on were computed after another beginning, even if their own tokens are the same.
///
/// Cost: one hash and one comparison for each block that matches, and one of each for the first that does not.
pub fn match_prefix(
    index: &PrefixIndex,
    salt: Salt,
    tokens: &[TokenId],
    block_size: usize,
    blocks: &mut Vec<BlockId>,
    hashes: &mut Vec<BlockHash>,
) {
    // ANCHOR: ex_10_4
    let mut parent = None;
    for tokens in tokens.chunks_exact(block_size) {
        let hash = hash_block(parent.as_ref(), salt, tokens);
        let Some(block) = index.find(&hash, parent.as_ref(), tokens) else {
            break;
        };
        blocks.push(block);
        hashes.push(hash);
        parent = Some(hash);
    }
    // ANCHOR_END: ex_10_4
}
