//! How much of a text is there already.

use crate::block::BlockId;
use crate::hash::{Before, Name, Salt};
use crate::prefix::PrefixIndex;
use training::TokenId;

/// Finds the published blocks that hold the beginning of a text. Appends their numbers to `blocks` and their names to
/// `names`, in order.
///
/// Only full blocks have names; each is looked up by the hash of the name before it and of its own tokens. The first
/// block that is not published ends the match: keys further on were computed after another beginning, even if their own
/// tokens are the same.
///
/// Cost: one hash and one comparison for each block that matches, and one of each for the first that does not.
pub fn match_prefix(
    index: &PrefixIndex,
    salt: Salt,
    tokens: &[TokenId],
    block_size: usize,
    blocks: &mut Vec<BlockId>,
    names: &mut Vec<Name>,
) {
    // ANCHOR: ex_10_4
    let mut before = Before::Nothing(salt);
    for tokens in tokens.chunks_exact(block_size) {
        let hash = index.hash(&before, tokens);
        let Some((block, name)) = index.find(&hash, &before, tokens) else {
            break;
        };
        blocks.push(block);
        names.push(name);
        // The next block has to stand behind this one, and not behind any block with equal tokens.
        before = Before::Block(name);
    }
    // ANCHOR_END: ex_10_4
}
