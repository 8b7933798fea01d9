//! Which full blocks can be used again, by the name of their content.
//!
//! A block is *published* when it is full and all its keys and values are written. It stays published while it is held, and also after its last
//! holder has gone, until it is handed out anew: then its name is forgotten first. So the free list, oldest first, is the order of eviction.

use crate::block::BlockId;
use crate::hash::{BlockHash, Salt, hash_block};
use std::collections::HashMap;
use training::TokenId;

/// The published blocks.
#[derive(Clone, Debug)]
pub struct PrefixIndex {
    block_size: usize,
    by_hash: HashMap<BlockHash, BlockId>,
    /// `[num_blocks]`: what each block is published as: its name, and that of the block before it.
    published: Vec<Option<(BlockHash, Option<BlockHash>)>>,
    /// `[num_blocks, block_size]`: the tokens that were written into each block.
    tokens: Vec<TokenId>,
}

impl PrefixIndex {
    /// Nothing is published yet. All memory is allocated here.
    pub fn new(num_blocks: usize, block_size: usize) -> PrefixIndex {
        PrefixIndex {
            block_size,
            by_hash: HashMap::with_capacity(num_blocks),
            published: vec![None; num_blocks],
            tokens: vec![TokenId(0); num_blocks * block_size],
        }
    }

    /// Published blocks.
    pub fn len(&self) -> usize {
        self.by_hash.len()
    }

    /// Whether nothing is published.
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// The tokens that were written into a block. Shape: `[block_size]`.
    pub fn tokens(&self, block: BlockId) -> &[TokenId] {
        &self.tokens[block.index() * self.block_size..][..self.block_size]
    }

    /// Notes the tokens of a block from place `first` on. It must not be published.
    pub fn note_tokens(&mut self, block: BlockId, first: usize, tokens: &[TokenId]) {
        debug_assert!(
            self.published[block.index()].is_none(),
            "{block:?} is published"
        );
        self.tokens[block.index() * self.block_size + first..][..tokens.len()]
            .copy_from_slice(tokens);
    }

    /// Notes that one block holds what another holds.
    pub fn copy_tokens(&mut self, from: BlockId, to: BlockId) {
        let from = from.index() * self.block_size;
        let to = to.index() * self.block_size;
        self.tokens.copy_within(from..from + self.block_size, to);
    }

    /// The published block with this name. The tokens are compared too, and the name of the block before: a hash that names two contents serves neither
    /// to the wrong one.
    pub fn find(
        &self,
        hash: &BlockHash,
        parent: Option<&BlockHash>,
        tokens: &[TokenId],
    ) -> Option<BlockId> {
        let block = *self.by_hash.get(hash)?;
        let (_, published_after) = self.published[block.index()].as_ref()?;
        let same = published_after.as_ref() == parent && self.tokens(block) == tokens;
        same.then_some(block)
    }

    /// Publishes a full block. If its content is published already, by another block, that one stays and nothing changes.
    pub fn publish(&mut self, block: BlockId, hash: BlockHash, parent: Option<BlockHash>) {
        if let std::collections::hash_map::Entry::Vacant(entry) = self.by_hash.entry(hash) {
            entry.insert(block);
            self.published[block.index()] = Some((hash, parent));
        }
    }

    /// Whether a block is published.
    pub fn is_published(&self, block: BlockId) -> bool {
        self.published[block.index()].is_some()
    }

    /// Takes a block's name away, before anything else is written into it. Returns whether it had one.
    pub fn forget(&mut self, block: BlockId) -> bool {
        let Some((hash, _)) = self.published[block.index()].take() else {
            return false;
        };
        let named = self.by_hash.remove(&hash);
        debug_assert_eq!(named, Some(block), "a name belongs to one block");
        true
    }

    /// The name of the next block of a text.
    pub fn name(&self, parent: Option<&BlockHash>, salt: Salt, tokens: &[TokenId]) -> BlockHash {
        hash_block(parent, salt, tokens)
    }

    /// Checks that names and blocks point at each other.
    ///
    /// # Panics
    /// When a rule is broken: our own bug.
    pub fn check_invariants(&self) {
        for (hash, block) in &self.by_hash {
            let published = self.published[block.index()].map(|(hash, _)| hash);
            assert_eq!(published, Some(*hash), "{block:?}");
        }
        let published = self.published.iter().flatten().count();
        assert_eq!(published, self.by_hash.len());
    }
}
