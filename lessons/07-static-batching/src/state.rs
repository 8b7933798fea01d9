//! Everything that a batch writes: scratch, and one cache for each row.

use generation::State;
use kv_cache::ContiguousCache;
use loading::config::ModelConfig;

/// Scratch and caches, kept from batch to batch, so that a batch like the last one allocates next to nothing.
///
/// The cache of a batch is one [`ContiguousCache`] a row: rows are of different length, and a row's keys are its own.
pub struct BatchState {
    /// Scratch of the forward pass.
    pub state: State,
    /// Caches of the rows; there may be more than the batch has.
    pub caches: Vec<ContiguousCache>,
}

impl BatchState {
    /// State without room; the first batch makes it.
    pub fn new(config: &ModelConfig) -> BatchState {
        BatchState {
            state: State::new(config, 0),
            caches: Vec::new(),
        }
    }

    /// An empty cache for each row of a batch, with room for so many positions. A cache that has the room is used again.
    pub fn prepare(&mut self, config: &ModelConfig, positions: impl Iterator<Item = usize>) {
        for (row, positions) in positions.enumerate() {
            match self.caches.get_mut(row) {
                Some(cache) if cache.capacity() >= positions => cache.clear(),
                Some(cache) => *cache = ContiguousCache::new(&config.llama, positions),
                None => self.caches.push(ContiguousCache::new(&config.llama, positions)),
            }
        }
    }

    /// Bytes of scratch and caches.
    pub fn bytes(&self) -> u64 {
        let caches: u64 = self.caches.iter().map(ContiguousCache::bytes).sum();
        self.state.bytes() as u64 + caches
    }
}
