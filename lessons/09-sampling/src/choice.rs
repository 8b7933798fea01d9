//! The sampler in lesson 08's engine: each request carries its own parameters.

use crate::params::CheckedParams;
use crate::sampler::Sampler;
use continuous_batching::engine::Choice;
use continuous_batching::{Engine, EngineLimits, FirstCome, ModelRunner, SlotCache, Slots};
use generation::Model;
use layout::pool::Pool;

// ANCHOR: choice
/// A choice by the parameters that are attached to each request. One sampler serves all requests: no choice depends on
/// an earlier one, and a draw depends on the request's seed and position alone. So a request gets the same answer in
/// every batch.
pub fn by_params<X: AsRef<CheckedParams>>() -> Choice<X> {
    let mut sampler = Sampler::new();
    Box::new(move |request, logits| {
        let params = request.attached.as_ref();
        let sampled = sampler.sample(params, &request.prompt, &request.output, logits)?;
        Ok(sampled.token)
    })
}
// ANCHOR_END: choice

/// Requests with further data attached give access to their parameters in the same way.
impl AsRef<CheckedParams> for CheckedParams {
    fn as_ref(&self) -> &CheckedParams {
        self
    }
}

/// Lesson 08's engine for requests that carry their parameters.
pub type SamplingEngine<'m> = Engine<ModelRunner<'m>, Slots, FirstCome, CheckedParams>;

/// An engine that chooses [`by_params`], with `num_slots` slots of `capacity` tokens, or of the model's context if that
/// is less.
pub fn engine<'m>(model: &'m Model, pool: &'m Pool, num_slots: usize, capacity: usize) -> SamplingEngine<'m> {
    let capacity = capacity.clamp(1, model.config.llama.max_seq_len);
    let cache = SlotCache::new(&model.config.llama, num_slots, capacity);
    let runner = ModelRunner::new(model, pool, cache, num_slots, capacity);
    let limits = EngineLimits::of_model(&model.config, num_slots);
    Engine::with(runner, Slots::new(num_slots, capacity), FirstCome, limits).with_choice(by_params())
}
