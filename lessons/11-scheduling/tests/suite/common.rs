//! What several test files share.
#![allow(dead_code)]

use continuous_batching::ModelRunner;
use continuous_batching::engine::Choice;
use continuous_batching::{Delivery, Engine, EngineError, EngineLimits, Event, Refusal, Runner, SeqId};
use generation::{Model, State};
use kv_cache::cache::ContiguousCache;
use layout::pool::Pool;
use paged_cache::{BlockManager, PagedCache, Reserve, Shares, Sharing};
use sampling::{CheckedParams, Sampler};
use scheduling::policy::{Fcfs, Policy};
use scheduling::simulate::Job;
use scheduling::{Class, Meta, Preemption, Scheduler, StepLimits, SwapSpace, TenantId};
use std::time::Duration;
use training::TokenId;

/// The trained model of the workbook.
pub fn stories() -> Model {
    Model::open("stories").unwrap()
}

/// A tiny model with random weights.
pub fn fixture(name: &str) -> Model {
    Model::open(fixtures::model(name).to_str().unwrap()).unwrap()
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Tokens that look random and are the same each time; never the first ones, which end texts.
pub fn text(len: usize, seed: u32, vocab_size: usize) -> Vec<TokenId> {
    let most = vocab_size as u32 - 10;
    let token = |i: u32| 5 + (i * 97 + seed * 1009 + i * i * 31) % most;
    (0..len as u32).map(|i| TokenId(token(i))).collect()
}

/// A machine for a real model.
#[derive(Clone, Copy)]
pub struct Setting {
    pub max_running: usize,
    pub budget: usize,
    pub chunk: usize,
    pub num_blocks: usize,
    pub block_size: usize,
    pub preemption: Preemption,
    pub host_blocks: usize,
    pub prefix_cache: bool,
    pub max_seq_len: usize,
}

impl Default for Setting {
    /// Few rows, few blocks.
    fn default() -> Setting {
        Setting {
            max_running: 6,
            budget: 9,
            chunk: 4,
            num_blocks: 16,
            block_size: 4,
            preemption: Preemption::Recompute,
            host_blocks: 0,
            prefix_cache: true,
            max_seq_len: 64,
        }
    }
}

/// An engine whose requests carry `X`.
pub type ModelEngine<'m, X = Meta> = Engine<ModelRunner<'m, PagedCache>, SwapSpace, Scheduler, X>;

pub fn engine<'m>(model: &'m Model, pool: &'m Pool, setting: Setting) -> ModelEngine<'m> {
    engine_with(model, pool, setting, Box::new(Fcfs))
}

pub fn engine_with<'m, X: AsRef<Meta> + AsMut<Meta> + Shares>(
    model: &'m Model,
    pool: &'m Pool,
    setting: Setting,
    policy: Box<dyn Policy>,
) -> ModelEngine<'m, X> {
    let limits = StepLimits {
        max_chunk_tokens: setting.chunk,
        preemption: setting.preemption,
        ..StepLimits::with_budget(setting.budget)
    };
    let blocks = BlockManager::new(setting.num_blocks, setting.block_size, setting.max_seq_len);
    let blocks = blocks.reserving(Reserve::Known);
    let blocks = match setting.prefix_cache {
        true => blocks,
        false => blocks.without_prefix_cache(),
    };
    let memory = SwapSpace::new(blocks, setting.host_blocks);
    let cache = PagedCache::new(&model.config.llama, memory.num_blocks(), setting.block_size);
    let rows = setting.budget.min(64);
    let runner = ModelRunner::new(model, pool, cache, rows, setting.max_seq_len);
    let engine_limits = EngineLimits::of_model(&model.config, setting.max_running);
    Engine::with(runner, memory, Scheduler::new(limits, policy), engine_limits)
}

/// A request with a time of arrival, and a step with its time, in one call each.
pub trait At {
    fn submit_at(&mut self, now: Duration, meta: Meta, prompt: &[TokenId], new: usize) -> Result<SeqId, Refusal>;
    fn step_at(&mut self, now: Duration, on_event: &mut dyn FnMut(Event<'_>) -> Delivery) -> Result<(), EngineError>;
}

impl<R: Runner> At for Engine<R, SwapSpace, Scheduler, Meta> {
    fn submit_at(&mut self, now: Duration, meta: Meta, prompt: &[TokenId], new: usize) -> Result<SeqId, Refusal> {
        self.submit_with(prompt, new, Meta { arrival: now, ..meta })
    }

    fn step_at(&mut self, now: Duration, on_event: &mut dyn FnMut(Event<'_>) -> Delivery) -> Result<(), EngineError> {
        self.scheduler.now = now;
        scheduling::trace::step(self, on_event)
    }
}

/// A request's data for the scheduler and for lesson 09's sampler.
pub struct Sampled {
    pub meta: Meta,
    pub params: CheckedParams,
}

impl AsRef<Meta> for Sampled {
    fn as_ref(&self) -> &Meta {
        &self.meta
    }
}

impl AsMut<Meta> for Sampled {
    fn as_mut(&mut self) -> &mut Meta {
        &mut self.meta
    }
}

impl AsRef<CheckedParams> for Sampled {
    fn as_ref(&self) -> &CheckedParams {
        &self.params
    }
}

impl Shares for Sampled {
    fn sharing(&self) -> Sharing {
        self.meta.sharing()
    }
}

/// No block is held, on the device or in the host pool.
#[track_caller]
pub fn assert_empty<X>(engine: &ModelEngine<'_, X>) {
    assert_eq!(engine.memory.num_stored(), 0, "sequences in the host pool");
    assert_eq!(engine.memory.device.num_held(), 0, "blocks held");
}

/// The answer drawn with these parameters for a request alone: lesson 06's pass, lesson 09's sampler.
pub fn sampled(
    model: &Model,
    prompt: &[TokenId],
    max_new_tokens: usize,
    max_seq_len: usize,
    params: &CheckedParams,
) -> Vec<TokenId> {
    let (config, weights) = (&model.config, &model.weights);
    let (pool, mut state) = (Pool::new(1), State::new(config, 0));
    let mut cache = ContiguousCache::new(&config.llama, max_seq_len);
    let (mut sampler, mut output) = (Sampler::new(), Vec::new());
    let mut rows = prompt.to_vec();
    while output.len() < max_new_tokens && prompt.len() + output.len() < max_seq_len {
        let pass = kv_cache::forward::forward(config, weights, &mut state, &mut cache, &pool, &rows);
        let mut logits = pass.unwrap().to_vec();
        let sampled = sampler.sample(params, prompt, &output, &mut logits);
        let token = sampled.unwrap().token;
        if config.eos_token_ids.contains(&token) {
            break;
        }
        output.push(token);
        rows = vec![token];
    }
    output
}

/// A choice that notes of each request how many tokens of prompt and of output it was shown.
pub fn watched<X: 'static>(inner: Choice<X>, seen: std::sync::mpsc::Sender<(SeqId, usize, usize)>) -> Choice<X> {
    let mut inner = inner;
    Box::new(move |request, logits| {
        let _ = seen.send((request.id, request.prompt.len(), request.output.len()));
        inner(request, logits)
    })
}

pub fn meta(tenant: u32, class: u8) -> Meta {
    Meta {
        tenant: TenantId(tenant),
        class: Class(class),
        ..Meta::default()
    }
}

pub fn job(at_ms: u64, class: u8, prompt_tokens: usize, new_tokens: usize) -> Job {
    Job {
        at: ms(at_ms),
        meta: meta(0, class),
        prompt_tokens,
        new_tokens,
    }
}
