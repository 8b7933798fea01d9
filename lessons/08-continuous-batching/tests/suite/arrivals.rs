//! Requests that come one by one, served on a virtual clock on which each step takes a millisecond.

#[allow(dead_code)] // the story measures more
#[path = "../../src/story/serve.rs"]
mod serve;

use crate::common::small_limits;
use continuous_batching::runner::NoModel;
use continuous_batching::{Batch, Engine, Slots};
use serve::{Times, serve};
use static_batching::clock::VirtualClock;
use static_batching::percentile::percentile;
use static_batching::plan::{StepRequest, static_plan};
use static_batching::workload::{Lengths, Pace, arrivals};
use std::time::Duration;
use training::TokenId;

const SLOTS: usize = 8;

/// Serves requests of these (prompt tokens, new tokens).
fn on_virtual_clock(at: &[Duration], lengths: &[(usize, usize)]) -> Vec<Times> {
    let mut engine = Engine::new(NoModel::new(4), Slots::new(SLOTS, 1024), small_limits(SLOTS, 1024));
    let prompt = [TokenId(0); 1024];
    let request = |index: usize| (&prompt[..lengths[index].0], lengths[index].1);
    let mut step = |clock: &mut VirtualClock, _: &Batch| clock.advance(Duration::from_millis(1));
    serve(&mut engine, &mut VirtualClock::new(), at, request, &mut step).unwrap()
}

#[test]
fn a_request_that_comes_while_others_run_joins_at_the_next_step() {
    let ms = Duration::from_millis;
    let at = [ms(0), Duration::from_micros(2500), ms(50)];
    let times = on_virtual_clock(&at, &[(4, 10), (4, 2), (4, 1)]);
    assert_eq!((times[0].first, times[0].returned), (ms(1), ms(10)));
    // The step in progress when it comes ends at 3 ms; its own first step follows.
    assert_eq!((times[1].first, times[1].returned), (ms(4), ms(5)));
    assert_eq!((times[2].arrived, times[2].returned), (ms(50), ms(51)));
}

/// C2 and C4 in steps, with equal time a step for both: a short request waits neither for the end of a batch that it
/// came too late for, nor for the longest of its own.
#[test]
fn the_tail_of_short_requests_is_shorter_than_with_batches() {
    let lengths = Lengths::Mix {
        prompt: (16, 64),
        new: (8, 48),
    };
    let stream = arrivals(5, 4000, &lengths, &Pace::Poisson { per_second: 110.0 });
    let at: Vec<Duration> = stream.iter().map(|a| a.at).collect();
    let pairs: Vec<(usize, usize)> = stream.iter().map(|a| (a.prompt_tokens, a.new_tokens)).collect();
    let continuous = on_virtual_clock(&at, &pairs);
    let request = |a: &static_batching::workload::Arrival| StepRequest {
        arrives: a.at.as_millis() as u64,
        prompt_tokens: a.prompt_tokens,
        new_tokens: a.new_tokens,
    };
    let requests: Vec<StepRequest> = stream.iter().map(request).collect();
    let plan = static_plan(&requests, SLOTS);
    let short: Vec<usize> = (0..pairs.len()).filter(|index| pairs[*index] == (16, 8)).collect();
    let p99 = |latency: &dyn Fn(usize) -> u64| {
        percentile(&short.iter().map(|i| latency(*i)).collect::<Vec<u64>>(), 99.0).unwrap()
    };
    let in_batches = p99(&|i| plan.outcomes[i].returned - requests[i].arrives);
    let in_engine = p99(&|i| continuous[i].latency().as_millis() as u64);
    assert!(in_batches > 3 * in_engine, "P99 {in_batches} and {in_engine} steps");
    let waits = p99(&|i| continuous[i].ttft().as_millis() as u64);
    assert!(waits < 20, "P99 of the first token: {waits} steps");
}
