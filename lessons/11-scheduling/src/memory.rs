//! Memory that is promised little by little, and that may be taken back.

use crate::entry::TenantId;
use continuous_batching::memory::{Admission, Memory};
use continuous_batching::request::{Request, SeqId};
use paged_cache::hash::Salt;
use paged_cache::{PagedCache, Pages, Wish};
use training::TokenId;

// ANCHOR: device
/// Lesson 10's blocks, as preemption needs them. Implemented for the numbers alone and for numbers with floats.
pub trait Device: Memory {
    /// Promises a sequence blocks for `num_tokens` tokens in all, or changes nothing and returns false.
    fn reserve(&mut self, id: SeqId, num_tokens: usize) -> bool;

    /// Frees what a sequence holds which will come again: with whom it shares stays as it was.
    fn take_back(&mut self, id: SeqId) -> bool;

    /// Says with whom a request that was just submitted may share what is computed alike.
    fn share_among(&mut self, id: SeqId, tenant: TenantId);

    /// Tokens of a sequence that are kept.
    fn len(&self, id: SeqId) -> usize;

    /// Appends keys and values of all that a sequence keeps to `out`.
    fn read_out(&self, id: SeqId, out: &mut Vec<f32>);

    /// Copies back what was read out of a sequence with these tokens.
    fn write_in(&mut self, id: SeqId, tokens: &[TokenId], from: &[f32]);
}
// ANCHOR_END: device

impl Device for Pages {
    fn reserve(&mut self, id: SeqId, num_tokens: usize) -> bool {
        Pages::reserve(self, id, num_tokens)
    }

    fn take_back(&mut self, id: SeqId) -> bool {
        Pages::take_back(self, id)
    }

    fn share_among(&mut self, id: SeqId, tenant: TenantId) {
        let salt = Salt(tenant.0.into());
        self.wish(id, Wish { parent: None, salt });
    }

    fn len(&self, id: SeqId) -> usize {
        self.table(id).map_or(0, |table| table.len)
    }

    fn read_out(&self, _id: SeqId, _out: &mut Vec<f32>) {}

    fn write_in(&mut self, id: SeqId, tokens: &[TokenId], _from: &[f32]) {
        self.begin_copy(id, tokens.len());
        self.keep_copied(id, tokens);
    }
}

impl Device for PagedCache {
    fn reserve(&mut self, id: SeqId, num_tokens: usize) -> bool {
        self.pages_mut().reserve(id, num_tokens)
    }

    fn take_back(&mut self, id: SeqId) -> bool {
        self.pages_mut().take_back(id)
    }

    fn share_among(&mut self, id: SeqId, tenant: TenantId) {
        self.pages_mut().share_among(id, tenant);
    }

    fn len(&self, id: SeqId) -> usize {
        Device::len(self.pages(), id)
    }

    fn read_out(&self, id: SeqId, out: &mut Vec<f32>) {
        PagedCache::read_out(self, id, out);
    }

    fn write_in(&mut self, id: SeqId, tokens: &[TokenId], from: &[f32]) {
        PagedCache::write_in(self, id, tokens, from);
    }
}

/// A sequence outside of the device.
#[derive(Clone, Debug)]
struct Stored {
    id: SeqId,
    /// Tokens whose keys and values are stored.
    len: usize,
    numbers: Vec<f32>,
}

// ANCHOR: swap
/// Blocks on the device, and a host pool behind them for sequences that had to leave.
pub struct SwapSpace<D> {
    device: D,
    stored: Vec<Stored>,
    /// Tokens that the host pool has room for.
    host_tokens: usize,
    stats: SwapStats,
}
// ANCHOR_END: swap

/// What went out and came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwapStats {
    /// Sequences copied to the host pool.
    pub out: u64,
    /// Sequences copied back.
    pub back: u64,
    /// Tokens of all copies, both ways. What was found in the prefix cache on the way back was not copied.
    pub tokens: u64,
}

impl<D: Device> SwapSpace<D> {
    /// A host pool with room for `host_tokens` tokens behind a device.
    pub fn new(device: D, host_tokens: usize) -> SwapSpace<D> {
        SwapSpace {
            device,
            stored: Vec::new(),
            host_tokens,
            stats: SwapStats::default(),
        }
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device, to be written.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// What went out and came back so far.
    pub fn stats(&self) -> SwapStats {
        self.stats
    }

    /// Sequences in the host pool.
    pub fn num_stored(&self) -> usize {
        self.stored.len()
    }

    /// Promises blocks, or changes nothing and returns false.
    pub fn reserve(&mut self, id: SeqId, num_tokens: usize) -> bool {
        self.device.reserve(id, num_tokens)
    }

    /// Tokens in the host pool.
    pub fn stored_tokens(&self) -> usize {
        self.stored.iter().map(|stored| stored.len).sum()
    }

    /// Admits a request that was swapped out and copies it back. If it does not fit as a whole, it stays where it is.
    ///
    /// # Panics
    /// If it is not in the pool.
    pub fn swap_in(&mut self, request: &mut Request) -> Admission {
        let place = self.place(request.id).expect("it was swapped out");
        if self.device.admit(request) == Admission::NoRoom {
            return Admission::NoRoom;
        }
        let stored = self.stored.swap_remove(place);
        // What others computed alike was found and need not be copied.
        self.stats.tokens += stored.len.saturating_sub(request.num_computed) as u64;
        if request.num_computed < stored.len {
            let tokens: Vec<TokenId> = request.tokens().take(stored.len).collect();
            self.device.write_in(request.id, &tokens, &stored.numbers);
            // A row is left to compute, also for one that was sent back after a step that failed.
            request.num_computed = stored.len.min(request.num_tokens() - 1);
        }
        self.stats.back += 1;
        Admission::Admitted
    }

    fn place(&self, id: SeqId) -> Option<usize> {
        self.stored.iter().position(|stored| stored.id == id)
    }
}

// ANCHOR: gives_back
/// Memory as the one sees it who sends a request back. Implemented by [`SwapSpace`].
pub trait GivesBack {
    /// Copies what a sequence keeps to the host pool and frees its blocks. Returns how many tokens that were. 0: the pool has no room for them, or there are
    /// none, and nothing has changed.
    fn swap_out(&mut self, id: SeqId) -> usize;

    /// Forgets what a sequence keeps and frees its blocks. Returns whether it held any.
    fn forget(&mut self, id: SeqId) -> bool;
}
// ANCHOR_END: gives_back

impl<D: Device> GivesBack for SwapSpace<D> {
    fn swap_out(&mut self, id: SeqId) -> usize {
        let len = self.device.len(id);
        if len == 0 || self.stored_tokens() + len > self.host_tokens {
            return 0;
        }
        let mut numbers = Vec::new();
        self.device.read_out(id, &mut numbers);
        self.stored.push(Stored { id, len, numbers });
        self.device.take_back(id);
        self.stats.out += 1;
        self.stats.tokens += len as u64;
        len
    }

    fn forget(&mut self, id: SeqId) -> bool {
        self.device.take_back(id)
    }
}

impl<D: Device> Memory for SwapSpace<D> {
    fn max_seq_len(&self) -> usize {
        self.device.max_seq_len()
    }

    fn admit(&mut self, request: &mut Request) -> Admission {
        self.device.admit(request)
    }

    /// Frees what a sequence holds on the device or in the pool.
    fn release(&mut self, id: SeqId) -> bool {
        match self.place(id) {
            Some(place) => {
                self.stored.swap_remove(place);
                // Nothing lies there, but perhaps a wish.
                self.device.release(id);
                true
            }
            None => self.device.release(id),
        }
    }

    fn holds(&self, id: SeqId) -> bool {
        self.device.holds(id)
    }

    fn num_holders(&self) -> usize {
        self.device.num_holders() + self.stored.len()
    }

    fn check_invariants(&self) {
        self.device.check_invariants();
        let used = self.stored_tokens();
        assert!(used <= self.host_tokens, "{used} of {} tokens", self.host_tokens);
        for stored in &self.stored {
            assert!(!self.device.holds(stored.id), "{} is in two places", stored.id);
        }
    }
}
