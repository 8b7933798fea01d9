//! The forward pass sees the device and nothing of the pool behind it.

use crate::memory::{Device, SwapSpace};
use continuous_batching::batch::Batch;
use continuous_batching::cache::KvCache;
use kv_cache::CacheError;
use layout::pool::Pool;
use training::LlamaConfig;

impl<D: Device + KvCache> KvCache for SwapSpace<D> {
    fn begin(&mut self, batch: &Batch) -> Result<(), CacheError> {
        self.device_mut().begin(batch)
    }

    fn append(&mut self, layer: usize, batch: &Batch, qkv: &[f32]) {
        self.device_mut().append(layer, batch, qkv);
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
        self.device().attend(pool, config, layer, batch, qkv, scores, attended);
    }

    fn commit(&mut self, batch: &Batch) {
        self.device_mut().commit(batch);
    }
}
