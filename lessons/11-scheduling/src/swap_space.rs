//! Blocks that can be taken from a running request, and a host pool behind them.
//!
//! The host pool is a second allocator. Its blocks are numbered behind those of the device, so a swap is a list of
//! copies in the batch like any other: `device block -> host block` when a request is preempted,
//! `host block -> device block` when it is admitted again. The runner's cache needs [`SwapSpace::num_blocks`] blocks in
//! all. (On this machine both pools are in the same memory; with a GPU they are not, and nothing here changes.)

use continuous_batching::memory::{Admission, Memory};
use continuous_batching::request::{Request, SeqId};
use paged_cache::allocator::BlockAllocator;
use paged_cache::{BlockId, BlockManager, Shares};

/// A sequence in the host pool.
#[derive(Clone, Debug)]
struct Stored {
    id: SeqId,
    /// Number of tokens whose keys and values are stored.
    len: usize,
    /// Blocks of the host pool that hold them, in the order of the positions.
    blocks: Vec<BlockId>,
}

/// Counts of copies between device and host pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwapStats {
    /// Number of sequences that were copied to the host pool.
    pub out: u64,
    /// Number of sequences that were copied back.
    pub back: u64,
    /// Number of tokens of all copies, both ways. Tokens that the prefix cache still had on the way back are not
    /// copied.
    pub tokens: u64,
}

// ANCHOR: swap
/// Blocks on the device, and a host pool for sequences that were preempted.
#[derive(Clone, Debug)]
pub struct SwapSpace {
    /// The blocks that passes compute with.
    pub device: BlockManager,
    host: BlockAllocator,
    stored: Vec<Stored>,
    stats: SwapStats,
}
// ANCHOR_END: swap

impl SwapSpace {
    /// A host pool of `num_host_blocks` blocks behind a device.
    pub fn new(device: BlockManager, num_host_blocks: usize) -> SwapSpace {
        SwapSpace {
            device,
            host: BlockAllocator::new(num_host_blocks),
            stored: Vec::new(),
            stats: SwapStats::default(),
        }
    }

    /// Number of blocks of both pools: the cache that carries out the copies has this many.
    pub fn num_blocks(&self) -> usize {
        self.device.allocator().num_blocks() + self.host.num_blocks()
    }

    /// Counts since the space was made.
    pub fn stats(&self) -> SwapStats {
        self.stats
    }

    /// Number of sequences in the host pool.
    pub fn num_stored(&self) -> usize {
        self.stored.len()
    }

    fn index(&self, id: SeqId) -> Option<usize> {
        self.stored.iter().position(|stored| stored.id == id)
    }

    /// The number of a host block in a batch.
    fn number(&self, host: BlockId) -> u32 {
        self.device.allocator().num_blocks() as u32 + host.0
    }

    /// Takes a sequence out of the host pool.
    fn forget(&mut self, index: usize) {
        for block in self.stored.swap_remove(index).blocks {
            self.host.free(block);
        }
    }

    // ANCHOR: swap_in
    /// Admits a request whose keys and values lie in the host pool, and has them copied back. If there is no room for
    /// all of it, it stays where it is.
    fn swap_in<X: Shares>(&mut self, request: &mut Request<X>, index: usize) -> Admission {
        if self.device.admit(request) == Admission::NoRoom {
            return Admission::NoRoom;
        }
        // Blocks that the prefix cache still had are shared, and keep what they hold.
        let (shared, len) = (request.num_computed, self.stored[index].len);
        let first = shared / self.device.block_size();
        for place in first..self.stored[index].blocks.len() {
            let from = self.number(self.stored[index].blocks[place]);
            let table = self.device.table(request.id).expect("just admitted");
            let to = table.blocks[place].0;
            self.device.copy_first(from, to);
        }
        if shared < len {
            // The copies are made before the next pass, and nothing reads the blocks earlier: they count as computed
            // from now on.
            request.num_computed = len;
            self.device.note_computed(request);
            self.stats.tokens += (len - shared) as u64;
        }
        self.stats.back += 1;
        // Copies are made in the order in which they are noted, so one into a freed host block comes after those above.
        self.forget(index);
        Admission::Admitted
    }
    // ANCHOR_END: swap_in
}

// ANCHOR: reclaim
/// Memory that can be taken back from a running request. Implemented by [`SwapSpace`].
pub trait Reclaim {
    /// Has the keys and values of a sequence copied to the host pool, and frees its blocks. Returns the number of
    /// tokens that were stored. If the pool has no room, or there is nothing to store, it returns 0 and
    /// changes nothing.
    fn swap_out(&mut self, id: SeqId) -> usize;

    /// Frees the blocks of a sequence; its keys and values are lost. Returns whether it held any.
    fn drop_blocks(&mut self, id: SeqId) -> bool;

    /// Number of tokens of a sequence that lie in the host pool.
    fn stored_tokens(&self, id: SeqId) -> usize;
}
// ANCHOR_END: reclaim

impl Reclaim for SwapSpace {
    fn swap_out(&mut self, id: SeqId) -> usize {
        let Some(table) = self.device.table(id).filter(|table| table.len > 0) else {
            return 0;
        };
        let len = table.len;
        // Only blocks with written positions: the others hold nothing to keep.
        let from = table.blocks[..len.div_ceil(self.device.block_size())].to_vec();
        // All of it or none: half a sequence in the pool would still have to be computed again.
        let mut blocks = Vec::new();
        if !self.host.allocate(from.len(), &mut blocks) {
            return 0;
        }
        for (from, to) in from.iter().zip(&blocks) {
            let to = self.number(*to);
            self.device.copy_first(from.0, to);
        }
        self.stored.push(Stored { id, len, blocks });
        // Freed although it is still to be copied: copies come before all rows of the next pass, and in the order in
        // which they were asked for.
        self.drop_blocks(id);
        self.stats.out += 1;
        self.stats.tokens += len as u64;
        len
    }

    fn drop_blocks(&mut self, id: SeqId) -> bool {
        Memory::<()>::free(&mut self.device, id)
    }

    fn stored_tokens(&self, id: SeqId) -> usize {
        self.index(id).map_or(0, |index| self.stored[index].len)
    }
}

impl<X: Shares> Memory<X> for SwapSpace {
    fn max_seq_len(&self) -> usize {
        Memory::<X>::max_seq_len(&self.device)
    }

    fn admit(&mut self, request: &mut Request<X>) -> Admission {
        match self.index(request.id) {
            Some(index) => self.swap_in(request, index),
            None => self.device.admit(request),
        }
    }

    fn grow(&mut self, id: SeqId, num_tokens: usize) -> bool {
        Memory::<X>::grow(&mut self.device, id, num_tokens)
    }

    fn note_computed(&mut self, request: &Request<X>) {
        self.device.note_computed(request);
    }

    /// Frees what a sequence holds on the device or in the host pool.
    fn free(&mut self, id: SeqId) -> bool {
        match self.index(id) {
            Some(index) => {
                self.forget(index);
                true
            }
            None => self.drop_blocks(id),
        }
    }

    fn holds(&self, id: SeqId) -> bool {
        Memory::<X>::holds(&self.device, id) || self.index(id).is_some()
    }

    fn num_holders(&self) -> usize {
        Memory::<X>::num_holders(&self.device) + self.stored.len()
    }

    fn write_table(&self, id: SeqId, table: &mut Vec<u32>) {
        Memory::<X>::write_table(&self.device, id, table);
    }

    fn take_copies(&mut self, copies: &mut Vec<(u32, u32)>) {
        Memory::<X>::take_copies(&mut self.device, copies);
    }

    fn check_invariants(&self) {
        Memory::<X>::check_invariants(&self.device);
        self.host.check_invariants();
        // Each host block is free, or holds a part of exactly one stored sequence.
        let used: usize = self.stored.iter().map(|stored| stored.blocks.len()).sum();
        assert_eq!(
            used + self.host.num_free(),
            self.host.num_blocks(),
            "a host block is lost"
        );
        for stored in &self.stored {
            assert!(
                !Memory::<X>::holds(&self.device, stored.id),
                "{} is in two pools",
                stored.id
            );
        }
    }
}
