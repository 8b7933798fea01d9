//! A stream that writes while a long prompt arrives: the time of each of its tokens, on the real model.

use super::{BLOCK_SIZE, Means, Scene};
use continuous_batching::{
    Delivery, Engine, EngineLimits, Event, Memory, ModelRunner, Runner, Schedule, SlotCache, Slots,
};
use lab::ledger;
use scheduling::Preemption;
use std::time::{Duration, Instant};
use training::TokenId;

/// Tokens of the stream before the long prompt comes.
pub const BEFORE: usize = 8;
/// Tokens of the stream in all, unless the prompt takes longer.
pub const TOKENS: usize = 32;

/// Steps of one kind, added up.
#[derive(Clone, Copy, Default)]
pub struct Steps {
    /// Number of steps.
    pub count: u32,
    /// Their time.
    pub time: Duration,
    /// Their multiply-adds.
    pub multiply_adds: u64,
}

impl Steps {
    /// Share of the machine's peak, in floating-point operations a second, that the steps made use of.
    pub fn share(&self, peak_flops: f64) -> f64 {
        2.0 * self.multiply_adds as f64 / self.time.as_secs_f64().max(1e-9) / peak_flops
    }

    /// Mean time of a step in ms.
    pub fn ms(&self) -> f64 {
        self.time.as_secs_f64() * 1e3 / f64::from(self.count.max(1))
    }
}

/// What was seen of the stream.
#[derive(Default)]
pub struct Seen {
    /// Its tokens.
    pub tokens: Vec<TokenId>,
    /// When each of them came, since the start.
    at: Vec<Duration>,
    /// When the long prompt was submitted.
    came: Duration,
    /// When it had its first token.
    long_at: Duration,
    /// Steps of the stream alone, but for the first, which reads its prompt.
    pub alone: Steps,
    /// Steps that read the long prompt.
    pub reading: Steps,
}

impl Seen {
    /// Time before each token but the first.
    pub fn gaps(&self) -> Vec<Duration> {
        self.at.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// The longest gap from the arrival of the long prompt on.
    pub fn longest(&self) -> Duration {
        self.gaps().into_iter().skip(BEFORE - 1).max().unwrap_or_default()
    }

    /// Time to the first token of the long prompt.
    pub fn long_ttft(&self) -> Duration {
        self.long_at - self.came
    }
}

/// Tokens of the long prompt: what the context holds besides its answer.
pub fn long_prompt(scene: &Scene) -> Vec<TokenId> {
    scene.model.made_up_tokens(5, scene.context().saturating_sub(8))
}

/// Rows of a chunk that are tried, the smallest first.
pub const CHUNKS: [usize; 6] = [8, 16, 32, 64, 128, 256];

/// Tokens of a stream that lasts as long as the long prompt is read in chunks of this size.
pub fn tokens_while_read(scene: &Scene, chunk: usize) -> usize {
    BEFORE + long_prompt(scene).len().div_ceil(chunk) + 2
}

/// Tokens of the longest stream of the story.
pub fn most_tokens(scene: &Scene) -> usize {
    tokens_while_read(scene, CHUNKS[0]).max(TOKENS)
}

/// Lesson 08's engine.
pub fn before(scene: &Scene, prompt: &[TokenId]) -> anyhow::Result<Seen> {
    let limits = EngineLimits::of_model(&scene.model.config, 2);
    let cache = SlotCache::new(&scene.model.config.llama, 2, scene.context());
    let runner = ModelRunner::new(&scene.model, &scene.pool, cache, 2, scene.context());
    let engine = Engine::new(runner, Slots::new(2, scene.context()), limits);
    watch(scene, engine, prompt, TOKENS)
}

/// This lesson's schedule, with chunks of at most `chunk` rows, and a stream of `tokens` tokens. Without a prompt the
/// long one is alone.
pub fn in_chunks(scene: &Scene, prompt: &[TokenId], chunk: usize, tokens: usize) -> anyhow::Result<Seen> {
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
    let is_alone = prompt.is_empty();
    let stream = (!is_alone).then(|| engine.submit(prompt, tokens)).transpose()?;
    let (begun, mut heard) = (Instant::now(), Vec::new());
    let mut seen = Seen::default();
    let (mut has_come, mut is_read) = (false, false);
    while (!is_alone && seen.tokens.len() < tokens) || !is_read {
        if !has_come && (is_alone || seen.tokens.len() == BEFORE) {
            engine.submit(&long_prompt(scene), 1)?;
            (has_come, seen.came) = (true, begun.elapsed());
        }
        anyhow::ensure!(!engine.is_idle(), "the stream ended before the long prompt was read");
        heard.clear();
        let start = begun.elapsed();
        let (stepped, counted) = ledger::measure(|| {
            engine.step(&mut |event| {
                if let Event::Token { id, token } = event {
                    heard.push((id, token));
                }
                Delivery::Taken
            })
        });
        stepped?;
        let now = begun.elapsed();
        if !is_read && (has_come || !seen.tokens.is_empty()) {
            let steps = if has_come { &mut seen.reading } else { &mut seen.alone };
            steps.count += 1;
            steps.time += now - start;
            steps.multiply_adds += counted.multiply_adds;
        }
        for (id, token) in &heard {
            if Some(*id) == stream {
                seen.tokens.push(*token);
                seen.at.push(now);
            } else {
                (is_read, seen.long_at) = (true, now);
            }
        }
    }
    Ok(seen)
}
