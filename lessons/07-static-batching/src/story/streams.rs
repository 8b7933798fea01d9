//! Streams of requests, on a clock that is turned by hand and on the machine's.

use super::{Scene, made_up_tokens};
use anyhow::Context;
use static_batching::clock::{VirtualClock, WallClock};
use static_batching::percentile::percentile;
use static_batching::serve::{Served, Window, serve};
use static_batching::workload::{Lengths, Pace, arrivals};
use static_batching::{Pad, generate_batch};
use std::convert::Infallible;
use std::time::Duration;
use training::TokenId;

/// Tokens of a request: all are alike, so that only company makes a difference.
pub const PROMPT: usize = 8;
/// Tokens of its answer.
pub const NEW: usize = 16;

/// What batches of each size take: seconds, size 1 first.
pub type Costs = Vec<f64>;

/// A stream at `load` times what one at a time can serve.
pub fn stream(seed: u64, count: usize, load: f64, alone: f64) -> Vec<Duration> {
    let pace = Pace::Poisson {
        per_second: load / alone,
    };
    let stream = arrivals(seed, count, &Lengths::equal(PROMPT, NEW), &pace);
    stream.iter().map(|arrival| arrival.at).collect()
}

/// The stream on the virtual clock.
pub fn simulate(stream: &[Duration], window: &Window, costs: &Costs) -> Vec<Served> {
    let run = &mut |clock: &mut VirtualClock, ids: std::ops::Range<usize>| {
        clock.advance(Duration::from_secs_f64(costs[ids.len() - 1]));
        Ok::<(), Infallible>(())
    };
    match serve(&mut VirtualClock::new(), stream, window, run) {
        Ok(served) => served,
        Err(never) => match never {},
    }
}

/// What a stream's requests met.
pub struct Met {
    pub per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub mean_batch: f64,
}

impl Met {
    /// From what became of each request.
    pub fn of(served: &[Served]) -> Met {
        let ms: Vec<f64> = served.iter().map(|s| s.latency().as_secs_f64() * 1e3).collect();
        let at = |percent| percentile(&ms, percent).unwrap_or(f64::NAN);
        let end = served.iter().map(|s| s.finished).max().unwrap_or_default();
        let begin = served.first().map(|s| s.arrived).unwrap_or_default();
        // Each request is one part of its batch, so these parts add up to the number of batches.
        let batches: f64 = served.iter().map(|s| 1.0 / s.batch_size as f64).sum();
        Met {
            per_second: served.len() as f64 / (end - begin).as_secs_f64(),
            p50_ms: at(50.0),
            p99_ms: at(99.0),
            mean_batch: served.len() as f64 / batches,
        }
    }
}

/// The stream on the machine's clock, with the model.
pub fn serve_for_real(
    scene: &mut Scene,
    stream: &[Duration],
    window: &Window,
    on_batch: &mut dyn FnMut(u64),
) -> anyhow::Result<Vec<Served>> {
    let (model, pool, state) = (&scene.model, &scene.pool, &mut scene.state);
    let prompts: Vec<Vec<TokenId>> = (0..stream.len())
        .map(|salt| made_up_tokens(model, PROMPT, salt))
        .collect();
    let slices: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
    let run = &mut |_: &mut WallClock, ids: std::ops::Range<usize>| {
        on_batch(ids.len() as u64);
        let (max, rule) = (vec![NEW; ids.len()], Pad::default());
        let prompts = &slices[ids];
        generate_batch(model, state, pool, prompts, &max, rule, &mut |_, _| {}).map(|_| ())
    };
    serve(&mut WallClock::start(), stream, window, run).context("serving the stream")
}
