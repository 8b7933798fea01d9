//! A sequence's blocks.

use crate::block::BlockId;
use crate::hash::{Before, Name, Salt};
use training::TokenId;

// ANCHOR: table
/// What one sequence holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockTable {
    /// Its blocks, in the order of its positions.
    pub blocks: Vec<BlockId>,
    /// Positions whose keys and values are kept.
    pub len: usize,
    /// Names of its first blocks: of those that are full and were looked up or published.
    pub names: Vec<Name>,
    /// With whom it may share by content.
    pub salt: Salt,
    /// What its text begins with, for those who want to take it over.
    pub prompt: Vec<TokenId>,
    /// Most blocks that it was promised; as many will be there when they are needed.
    pub promised: usize,
}
// ANCHOR_END: table

impl BlockTable {
    /// Forgets everything; the room stays, for the next sequence.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.names.clear();
        self.prompt.clear();
        self.len = 0;
        self.salt = Salt::default();
        self.promised = 0;
    }

    /// Blocks that were promised and not taken yet.
    pub fn outstanding(&self) -> usize {
        self.promised - self.blocks.len()
    }

    /// What stands before the first block without a name.
    pub fn before_next_name(&self) -> Before {
        match self.names.last() {
            Some(name) => Before::Block(*name),
            None => Before::Nothing(self.salt),
        }
    }
}
