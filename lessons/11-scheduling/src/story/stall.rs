//! A stream that writes while a long prompt arrives: the time of each of its tokens, on the real model.

use super::{BLOCK_SIZE, Means, Scene};
use continuous_batching::{
    Delivery, Engine, EngineLimits, Event, Memory, ModelRunner, Runner, Schedule, SlotCache, Slots,
};
use scheduling::Preemption;
use std::time::{Duration, Instant};
use training::TokenId;

/// Tokens of the stream before the long prompt comes.
pub const BEFORE: usize = 8;
/// Tokens of the stream in all.
pub const TOKENS: usize = 32;

/// What was seen of the stream.
pub struct Seen {
    /// Its tokens.
    pub tokens: Vec<TokenId>,
    /// When each of them came, since the start.
    pub at: Vec<Duration>,
    /// When the long prompt had its first token.
    pub long_at: Duration,
    /// When it was submitted.
    pub came: Duration,
}

impl Seen {
    /// Time before each token but the first.
    pub fn gaps(&self) -> Vec<Duration> {
        self.at.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Gaps of the steps that read the long prompt.
    pub fn while_read(&self) -> Vec<Duration> {
        let gaps = self.gaps().into_iter().zip(&self.at[1..]);
        let read = gaps.filter(|(_, at)| (self.came..=self.long_at).contains(at));
        read.map(|(gap, _)| gap).collect()
    }

    /// The longest gap from the arrival of the long prompt on.
    pub fn longest(&self) -> Duration {
        (self.gaps().into_iter().skip(BEFORE - 1).max()).unwrap_or_default()
    }
}

/// Tokens of the long prompt: what the context holds besides its answer.
pub fn long_prompt(scene: &Scene) -> Vec<TokenId> {
    scene.model.made_up_tokens(5, scene.context() - 8)
}

/// Lesson 08's engine.
pub fn before(scene: &Scene, prompt: &[TokenId]) -> anyhow::Result<Seen> {
    let limits = EngineLimits::of_model(&scene.model.config, 2);
    let cache = SlotCache::new(&scene.model.config.llama, 2, scene.context());
    let runner = ModelRunner::new(&scene.model, &scene.pool, cache, 2, scene.context());
    let engine = Engine::new(runner, Slots::new(2, scene.context()), limits);
    watch(scene, engine, prompt, TOKENS)
}

/// This lesson's schedule, with chunks of at most `chunk` rows.
pub fn in_chunks(scene: &Scene, prompt: &[TokenId], chunk: usize) -> anyhow::Result<Seen> {
    for_tokens(scene, prompt, chunk, TOKENS)
}

/// The same, with a stream that writes as long as the long prompt is read.
pub fn to_its_end(scene: &Scene, prompt: &[TokenId], chunk: usize) -> anyhow::Result<Seen> {
    let steps = long_prompt(scene).len().div_ceil(chunk);
    for_tokens(scene, prompt, chunk, BEFORE + steps + 2)
}

fn for_tokens(scene: &Scene, prompt: &[TokenId], chunk: usize, tokens: usize) -> anyhow::Result<Seen> {
    let engine = scene.engine(&Means {
        max_running: 2,
        chunk,
        num_blocks: 2 * scene.context().div_ceil(BLOCK_SIZE),
        preemption: Preemption::Recompute,
    });
    watch(scene, engine, prompt, tokens)
}

fn watch<R: Runner, M: Memory<X>, S: Schedule<M, X>, X: Default>(
    scene: &Scene,
    mut engine: Engine<R, M, S, X>,
    prompt: &[TokenId],
    tokens: usize,
) -> anyhow::Result<Seen> {
    let long = long_prompt(scene);
    let stream = engine.submit(prompt, tokens)?;
    let (begun, mut heard) = (Instant::now(), Vec::new());
    let mut seen = Seen {
        tokens: Vec::new(),
        at: Vec::new(),
        long_at: Duration::ZERO,
        came: Duration::ZERO,
    };
    while seen.tokens.len() < tokens || seen.long_at.is_zero() {
        if seen.tokens.len() == BEFORE && seen.came.is_zero() {
            engine.submit(&long, 1)?;
            seen.came = begun.elapsed();
        }
        heard.clear();
        engine.step(&mut |event| {
            if let Event::Token { id, token } = event {
                heard.push((id, token));
            }
            Delivery::Taken
        })?;
        let now = begun.elapsed();
        for (id, token) in &heard {
            if *id == stream {
                seen.tokens.push(*token);
                seen.at.push(now);
            } else {
                seen.long_at = now;
            }
        }
    }
    Ok(seen)
}
