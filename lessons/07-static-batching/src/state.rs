//! Everything that a batch writes: scratch, and one cache for each row.

use generation::State;
use kv_cache::ContiguousCache;
use loading::config::ModelConfig;

/// Scratch and caches, kept from batch to batch, so that a batch like the one before allocates next to nothing.
///
/// Each row has a [`ContiguousCache`] of its own: rows are of different length, and no row reads the keys of another.
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

    /// An empty cache for each row of a batch. `positions` gives the number of positions that each must hold. A cache
    /// with enough room is used again.
    pub fn prepare(&mut self, config: &ModelConfig, positions: impl Iterator<Item = usize>) {
        for (row, positions) in positions.enumerate() {
            match self.caches.get_mut(row) {
                Some(cache) if cache.capacity() >= positions => cache.clear(),
                Some(cache) => *cache = ContiguousCache::new(&config.llama, positions),
                None => self.caches.push(ContiguousCache::new(&config.llama, positions)),
            }
        }
    }
}
