//! Sampling inside lesson 08's engine: each request with parameters of its own.

use crate::params::CheckedParams;
use crate::sampler::Sampler;
use continuous_batching::engine::Choice;
use continuous_batching::request::SeqId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The parameters of the requests that an engine runs. A request that has none is answered greedily.
#[derive(Clone, Debug, Default)]
pub struct ParamsOfRequests(Arc<Mutex<HashMap<SeqId, Arc<CheckedParams>>>>);

impl ParamsOfRequests {
    /// Nobody's yet.
    pub fn new() -> ParamsOfRequests {
        ParamsOfRequests::default()
    }

    /// Says how a request is to be answered. To be called between `submit` and the next step. Whoever serves for long calls
    /// [`ParamsOfRequests::remove`] when the request has finished.
    pub fn set(&self, id: SeqId, params: CheckedParams) {
        self.locked().insert(id, Arc::new(params));
    }

    /// How a request is to be answered.
    pub fn get(&self, id: SeqId) -> Option<Arc<CheckedParams>> {
        self.locked().get(&id).cloned()
    }

    /// Forgets a request that has ended.
    pub fn remove(&self, id: SeqId) {
        self.locked().remove(&id);
    }

    /// Requests that have parameters.
    pub fn len(&self) -> usize {
        self.locked().len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    // ANCHOR: choice
    /// What an engine chooses tokens with. One sampler serves all requests: it remembers nothing from one token to the next, and what it draws depends
    /// on the request's seed and position alone, so a request gets the same answer whoever shares the batch.
    pub fn choice(&self) -> Choice {
        let (params, mut sampler) = (self.clone(), Sampler::new());
        Box::new(move |request, logits| match params.get(request.id) {
            Some(mine) => {
                let sampled = sampler.sample(&mine, &request.prompt, &request.output, logits)?;
                Ok(sampled.token)
            }
            None => generation::generate::greedy(logits),
        })
    }
    // ANCHOR_END: choice

    /// A map is whole whatever panicked beside it.
    fn locked(&self) -> MutexGuard<'_, HashMap<SeqId, Arc<CheckedParams>>> {
        self.0.lock().unwrap_or_else(|error| error.into_inner())
    }
}
