//! Which full blocks can be used again, by the name of their content.
//!
//! A block is *published* when it is full and all its keys and values are written, or will be by a copy at the start of
//! the next pass. It stays published while it is held,
//! and also after its last holder has gone, until it is handed out anew: then its name is forgotten first. So the free
//! list, oldest first, is the order of eviction. If two sequences compute the same content, only the block that is full
//! first is published; the other stays without a name, even after the first has been evicted.
//!
//! The hash only says where to look. Whether a block is the right one is decided by comparing: its own tokens, and the
//! serial number of the block before it, which was compared in the same way. So a block is found for exactly the text
//! that it was computed for, however weak the hash.

use crate::block::BlockId;
use crate::hash::{Before, BlockHash, HashBlock, Name, hash_block};
use lab::ledger;
use std::collections::HashMap;
use training::TokenId;

/// What a block is published as.
#[derive(Clone, Copy, Debug)]
struct Published {
    name: Name,
    before: Before,
}

// ANCHOR: index
/// The published blocks.
#[derive(Clone, Debug)]
pub struct PrefixIndex {
    block_size: usize,
    by_hash: HashMap<BlockHash, BlockId>,
    /// `[num_blocks]`: what each block is published as.
    published: Vec<Option<Published>>,
    /// `[num_blocks, block_size]`: the tokens that were written into each block.
    tokens: Vec<TokenId>,
    hash: HashBlock,
    /// Serial number of the next publication.
    next_serial: u64,
}
// ANCHOR_END: index

impl PrefixIndex {
    /// Nothing is published yet. All memory is allocated here.
    pub fn new(num_blocks: usize, block_size: usize) -> PrefixIndex {
        PrefixIndex {
            block_size,
            // Twice the room: a table that is full of removed names would be allocated anew.
            by_hash: HashMap::with_capacity(2 * num_blocks),
            published: vec![None; num_blocks],
            tokens: vec![TokenId(0); num_blocks * block_size],
            hash: hash_block,
            next_serial: 0,
        }
    }

    /// The same with another hash. For tests: with any hash a request is given only blocks of its own text.
    pub fn with_hash(self, hash: HashBlock) -> PrefixIndex {
        PrefixIndex { hash, ..self }
    }

    /// Number of published blocks.
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

    /// Notes the token at place `place` of a block. It must not be published.
    pub fn note_token(&mut self, block: BlockId, place: usize, token: TokenId) {
        debug_assert!(!self.is_published(block), "{block:?} is published");
        self.tokens[block.index() * self.block_size + place] = token;
    }

    /// Notes that one block holds what another holds.
    pub fn copy_tokens(&mut self, from: BlockId, to: BlockId) {
        let from = from.index() * self.block_size;
        let to = to.index() * self.block_size;
        self.tokens.copy_within(from..from + self.block_size, to);
    }

    /// The hash of the block that holds `tokens` and stands behind `before`.
    pub fn hash(&self, before: &Before, tokens: &[TokenId]) -> BlockHash {
        ledger::count(|l| l.add("blocks_hashed", 1));
        (self.hash)(before, tokens)
    }

    // ANCHOR: find
    /// The published block with this hash and its name, if it holds these tokens and stands behind `before`. If two
    /// contents have the same hash, neither is returned for the other.
    pub fn find(&self, hash: &BlockHash, before: &Before, tokens: &[TokenId]) -> Option<(BlockId, Name)> {
        let block = *self.by_hash.get(hash)?;
        let published = self.published[block.index()].as_ref()?;
        // The hash only led here; the content decides.
        let same = published.before == *before && self.tokens(block) == tokens;
        same.then_some((block, published.name))
    }
    // ANCHOR_END: find

    // ANCHOR: publish
    /// Publishes a full block that stands behind `before`, and returns the name of its content. If another block is
    /// published with the same content already, that one stays. If one with the same hash has other content, its name
    /// is forgotten.
    pub fn publish(&mut self, block: BlockId, before: Before) -> Name {
        let tokens = self.tokens(block);
        let hash = self.hash(&before, tokens);
        if let Some((_, name)) = self.find(&hash, &before, tokens) {
            return name;
        }
        // The map holds one block for each hash, so other content with this hash could not be found any more.
        if let Some(other) = self.by_hash.get(&hash).copied() {
            self.forget(other);
        }
        let serial = self.next_serial;
        // No number is given twice. Blocks that were published behind an evicted one name its old number, so they are
        // not found behind the block that is published in its place.
        self.next_serial += 1;
        let name = Name { hash, serial };
        self.by_hash.insert(hash, block);
        self.published[block.index()] = Some(Published { name, before });
        name
    }
    // ANCHOR_END: publish

    /// Whether a block is published.
    pub fn is_published(&self, block: BlockId) -> bool {
        self.published[block.index()].is_some()
    }

    /// Takes a block's name away, before anything else is written into it. Returns whether it had one.
    pub fn forget(&mut self, block: BlockId) -> bool {
        let Some(Published { name, .. }) = self.published[block.index()].take() else {
            return false;
        };
        // Both directions go together, or a lookup would lead to a block without a name.
        let named = self.by_hash.remove(&name.hash);
        debug_assert_eq!(named, Some(block), "a name belongs to one block");
        true
    }

    /// Checks that names and blocks point at each other.
    ///
    /// # Panics
    /// When a rule is broken: our own bug.
    pub fn check_invariants(&self) {
        for (hash, block) in &self.by_hash {
            let published = self.published[block.index()].map(|published| published.name.hash);
            assert_eq!(published, Some(*hash), "{block:?}");
        }
        let published = self.published.iter().flatten().count();
        assert_eq!(published, self.by_hash.len());
    }
}
