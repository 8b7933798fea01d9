//! Steps of decoding to be timed: sequences of some length, of which each step computes one token more and forgets it again.

use generation::{Model, State};
use kv_cache::ContiguousCache;
use layout::pool::Pool;
use static_batching::PaddedBatch;
use static_batching::batch::Pad;
use static_batching::forward::forward;
use training::{LlamaConfig, TokenId};

/// Tokens that each sequence has before the step.
pub const CONTEXT: usize = 64;

/// Sequences of one model, all of the same length.
pub struct Bench<'a> {
    model: &'a Model,
    pool: &'a Pool,
    state: State,
    caches: Vec<ContiguousCache>,
}

impl<'a> Bench<'a> {
    /// Up to `rows` sequences. Their keys and values are made up: a step takes the same time whatever they are.
    pub fn new(model: &'a Model, pool: &'a Pool, rows: usize) -> Bench<'a> {
        let llama = &model.config.llama;
        let cache = |row| {
            let mut cache = ContiguousCache::new(llama, CONTEXT + 1);
            let qkv = made_up_rows(llama, row);
            for layer in 0..llama.num_layers {
                cache.append(layer, &qkv);
            }
            cache.advance(CONTEXT);
            cache
        };
        Bench {
            model,
            pool,
            state: State::new(&model.config, rows),
            caches: (0..rows).map(cache).collect(),
        }
    }

    /// The batch of one step over `rows` sequences.
    pub fn batch(&self, rows: usize) -> PaddedBatch {
        let token = [TokenId(1)];
        let prompts = vec![&token[..]; rows];
        let mut batch = PaddedBatch::prefill(&self.model.config.llama, &prompts, Pad::default())
            .expect("token 1 is in every vocabulary");
        batch.set_step(&vec![Some(TokenId(1)); rows], &vec![CONTEXT; rows]);
        batch
    }

    /// One step; afterwards the caches are as before.
    pub fn step(&mut self, batch: &PaddedBatch) {
        let (config, weights) = (&self.model.config, &self.model.weights);
        let caches = &mut self.caches[..batch.batch_size()];
        let logits = forward(config, weights, &mut self.state, caches, self.pool, batch);
        std::hint::black_box(logits.expect("one more position fits"));
        for cache in caches {
            cache.truncate(CONTEXT).expect("it held more");
        }
    }

    /// The same step for one sequence by lesson 06's pass.
    pub fn step_of_lesson_06(&mut self) {
        let (config, weights) = (&self.model.config, &self.model.weights);
        let (state, cache) = (&mut self.state, &mut self.caches[0]);
        let token = [TokenId(1)];
        let logits = kv_cache::forward::forward(config, weights, state, cache, self.pool, &token);
        std::hint::black_box(logits.expect("one more position fits"));
        cache.truncate(CONTEXT).expect("it held more");
    }
}

/// Queries, keys and values of [`CONTEXT`] rows, small numbers.
fn made_up_rows(config: &LlamaConfig, salt: usize) -> Vec<f32> {
    let numbers = CONTEXT * (config.q_size() + 2 * config.kv_size());
    (0..numbers)
        .map(|i| ((i + 977 * salt) as f32 * 0.37).sin() * 0.5)
        .collect()
}
