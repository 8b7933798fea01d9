//! The blocks of one sequence.

use crate::block::BlockId;
use crate::hash::{Before, Name, Salt};
use training::TokenId;

// ANCHOR: table
/// What one sequence holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockTable {
    /// Blocks, in the order of the positions.
    pub blocks: Vec<BlockId>,
    /// Number of positions whose keys and values are written.
    pub len: usize,
    /// Names of the first blocks: of those that are full, and were found or published.
    pub names: Vec<Name>,
    /// Salt of the request.
    pub salt: Salt,
    /// Prompt of the request, to be compared with the prompts of its children.
    pub prompt: Vec<TokenId>,
    /// Number of blocks that were reserved at admission, those in `blocks` included. Zero where nothing is reserved.
    pub reserved: usize,
}
// ANCHOR_END: table

impl BlockTable {
    /// Removes everything; the allocated room stays, for the next sequence.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.names.clear();
        self.prompt.clear();
        self.len = 0;
        self.salt = Salt::default();
        self.reserved = 0;
    }

    /// Number of blocks that were reserved and are not taken yet.
    pub fn num_to_come(&self) -> usize {
        self.reserved.saturating_sub(self.blocks.len())
    }

    /// What stands before the first block without a name.
    pub fn before_next_name(&self) -> Before {
        match self.names.last() {
            Some(name) => Before::Block(*name),
            None => Before::Nothing(self.salt),
        }
    }
}
