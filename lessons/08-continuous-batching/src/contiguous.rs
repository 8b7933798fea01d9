//! Lesson 06's cache behind the same trait: one sequence, which owns all of it. So the ragged pass can be compared with single runs, and the trait
//! has been tried on two caches before others come.

use crate::batch::{Batch, BatchSequence};
use crate::cache::KvCache;
use generation::attention::attend_rows;
use kv_cache::CacheError;
use kv_cache::cache::ContiguousCache;
use layout::pool::Pool;
use training::LlamaConfig;

/// The one sequence of a batch.
fn only(batch: &Batch) -> &BatchSequence {
    match batch.sequences.as_slice() {
        [sequence] => sequence,
        sequences => panic!("one cache for one sequence, found {}", sequences.len()),
    }
}

impl KvCache for ContiguousCache {
    fn begin(&mut self, batch: &Batch) -> Result<(), CacheError> {
        let (sequence, first_position) = (only(batch), batch.positions[0]);
        if first_position + sequence.num_rows > self.capacity() {
            return Err(CacheError::Full {
                len: first_position,
                new: sequence.num_rows,
                capacity: self.capacity(),
            });
        }
        assert!(
            first_position <= self.len(),
            "{}: position {first_position} after {} stored ones leaves a gap",
            sequence.id,
            self.len()
        );
        self.truncate(first_position)
    }

    fn append(&mut self, layer: usize, _batch: &Batch, qkv: &[f32]) {
        ContiguousCache::append(self, layer, qkv);
    }

    fn attend(
        &self,
        pool: &Pool,
        config: &LlamaConfig,
        layer: usize,
        batch: &Batch,
        qkv: &[f32],
        scores: &mut Vec<f32>,
        attended: &mut [f32],
    ) {
        let view = |row: usize, kv_head| self.view(layer, kv_head, batch.positions[row] + 1);
        attend_rows(pool, config, qkv, &view, scores, attended);
    }

    fn commit(&mut self, batch: &Batch) {
        self.advance(only(batch).num_rows);
    }
}
